"""Read tracks and sites from other programs. Each format has a module, and read.py chooses among them."""
