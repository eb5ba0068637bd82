"""Measures of power flows."""
