"""What belongs to one domain each. Registered by entry points, as anybody's package is."""
