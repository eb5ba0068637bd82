"""From programs and data to a run."""
