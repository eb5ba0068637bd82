"""Grids from the files of MATPOWER and PGLib-OPF."""
