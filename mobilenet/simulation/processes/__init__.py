"""Processes on an abstract network without radio and movement, as in the papers on VCube."""
