"""Architectures of no domain, and how every model is called."""
