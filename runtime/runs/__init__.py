"""A run from its options to its folder."""
