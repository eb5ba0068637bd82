"""Models that answer with a power flow."""
