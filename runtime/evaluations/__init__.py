"""Builders of evaluations: what is measured at the end of a run and is not a mean over rows of the program."""
