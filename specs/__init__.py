"""The shipped specs."""
