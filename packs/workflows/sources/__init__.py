"""Pairs of workflows and tasks, and embeddings of their texts."""
