"""What a spec may name of power grids."""
