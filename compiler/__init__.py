"""From a checked spec to programs: IR, rows, ranges, duals, torch.fx."""
