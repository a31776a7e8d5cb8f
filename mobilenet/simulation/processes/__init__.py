"""Processes on an abstract network, as in the papers on VCube: no radio, no movement."""
