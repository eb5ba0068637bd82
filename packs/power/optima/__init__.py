"""Demands on a grid and the optimum of each."""
