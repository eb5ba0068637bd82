"""Processes, memory and networks."""
