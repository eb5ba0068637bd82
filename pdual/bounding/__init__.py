"""``pdual bounds``: what can be said of a spec's constraints and of its solution, with the derivation."""
