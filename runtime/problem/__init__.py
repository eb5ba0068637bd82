"""From a spec to a problem that can be solved: rows, models, samples, options."""
