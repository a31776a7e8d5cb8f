"""Benchmarks of the simulator, relative to a bare event queue."""
