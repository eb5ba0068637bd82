"""Scores of a graph and a vector."""
