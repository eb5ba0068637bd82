"""A run's problem solved again with some rows more: what is asked, the re-solve, the answers that are kept, processes side by side."""
