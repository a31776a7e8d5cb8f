"""The pictures, under a name of our own. In a clone they lie in `viz/` at the top; a wheel holds them here.

Model     a wheel has `viz/` as a folder, which Python finds before this module. They import each
          other relatively; all others import `mobilenet.viz`, and a foreign `viz.py` is never met
Source    ours: docs/architecture.md, "Decisions"
"""

from pathlib import Path

__path__ = [str(Path(__file__).parents[1] / "viz")]
