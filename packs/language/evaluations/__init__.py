"""Measures of language models."""
