"""Language models, and what they should forget."""
