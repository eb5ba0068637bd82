"""Builders of data and of known structure."""
