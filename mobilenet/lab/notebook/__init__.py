"""The Python API for notebooks: runs and studies that can draw themselves. The root package exports these names."""
