"""Electric power: grids, optimal power flow, set points that are completed to a power flow."""
