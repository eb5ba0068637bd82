"""Passes over rows, and what is measured of them."""
