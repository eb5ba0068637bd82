"""The canonical layout of a spec: the same tokens and comments, each where it belongs."""
