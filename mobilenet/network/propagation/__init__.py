"""The loss of a link between two points: path loss by distance, walls, shadowing by obstacles that are not drawn, and
fading.

Knows       The propagation uses the engine and tracks. It does not depend on frames, nodes or scenarios.
"""
