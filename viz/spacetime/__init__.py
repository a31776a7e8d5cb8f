"""Space-time diagrams, with hosts and stations as lines, messages as arrows, and sessions as bands."""

from .drawing import draw
from .window import Window, WindowError, default_moment, window_around

__all__ = ["Window", "WindowError", "default_moment", "draw", "window_around"]
