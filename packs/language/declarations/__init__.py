"""What a spec may name of language models."""
