"""Processes on an abstract network, as in the papers on VCube, without radio and movement."""
