"""Builders of models."""
