"""Benchmarks of the simulator. Results are relative to the speed of a bare event queue."""
