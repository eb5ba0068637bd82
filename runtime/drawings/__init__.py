"""How data sources draw their rows with the multipliers these have."""
