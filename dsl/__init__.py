"""From text to a checked spec. Imports nothing of the other stages, and nothing heavy."""
