"""Measures of workflows."""
