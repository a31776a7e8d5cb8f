"""The Python API for notebooks: runs and studies that draw themselves. The names in the root package are these."""
