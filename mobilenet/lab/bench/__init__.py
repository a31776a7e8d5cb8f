"""Measure how fast the simulator is, relative to a bare event queue."""
