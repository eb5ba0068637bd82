"""What a spec may name of workflows."""
