"""Create figures without pyplot. The caller owns them, and notebooks can display them with any backend.

Model     pyplot would keep each figure until it is closed, and would change the caller's backend
Source    ours: docs/architecture.md, "Decisions"
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DOTS_PER_INCH = 110  # resolution on a screen


class Canvas(Figure):
    """A matplotlib figure that notebooks can display as a picture."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        file = BytesIO()
        self.savefig(file, format="png", dpi=DOTS_PER_INCH)
        return file.getvalue()
