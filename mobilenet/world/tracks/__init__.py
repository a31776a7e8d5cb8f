"""Read tracks and sites of other programs: one module for each format, and read.py, which chooses among them."""
