"""The space-time diagram: hosts and stations as lines, messages as arrows, sessions as bands."""

from viz.spacetime.drawing import draw
from viz.spacetime.window import Window, WindowError, window_around

__all__ = ["Window", "WindowError", "draw", "window_around"]
