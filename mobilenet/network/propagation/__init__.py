"""The loss of a link between two places: distance, walls, shadows of obstacles that are not drawn, and fading.

Knows       the engine and tracks; nothing of frames, nodes or scenarios
"""
