"""Agentic workflows and the tasks that they solve."""
