"""The Python API for notebooks: runs and studies with figures. The root package exports these names."""
