"""How multipliers are held: one store a plan, side by side in the order of a data set's columns."""
