"""Drawings of rows with their multipliers."""
