"""Questions and answers of TOFU."""
