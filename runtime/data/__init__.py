"""Rows in memory: tables, groups, samples, and how they are drawn."""
