"""Compute how much power a link loses: path loss, walls, shadowing and fading.

Knows       Propagation depends on the engine and on tracks, but not on frames, nodes or scenarios.
"""
