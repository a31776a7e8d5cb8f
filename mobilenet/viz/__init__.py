"""The pictures, under a name of our own. In a clone they lie in `viz/` at the top; a wheel holds them here.

Model     setup.py puts the files of `viz/` in the place of this one. They import each other relatively, so that they
          do not care; all others import `mobilenet.viz`, and a foreign `viz.py` is never met
Source    ours: docs/architecture.md, "Decisions"
"""

from pathlib import Path

__path__ = [str(Path(__file__).parents[2] / "viz")]
