"""Broadcasts over VCube, a virtual hypercube that reconfigures itself when processes crash."""
