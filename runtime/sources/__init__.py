"""Rows of the user's own files."""
