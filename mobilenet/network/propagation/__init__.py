"""Compute how much power a link loses: path loss, walls, shadowing and fading.

Imports     Propagation uses the engine and tracks, but not frames, nodes or scenarios.
"""
