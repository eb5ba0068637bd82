"""``pdual bounds``: bounds on a spec's constraints and on its solution, with their derivation."""
