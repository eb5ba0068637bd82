"""Solves the problem of a run again with additional rows: the plan, one solve, the stored results, and solves in several processes."""
