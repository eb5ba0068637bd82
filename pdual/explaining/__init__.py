"""What was understood of a spec."""
