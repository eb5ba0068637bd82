"""The augmented Lagrangian and the steps of the weights."""
