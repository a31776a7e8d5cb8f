"""Find the scenarios and data that come with the package: next to it in a clone, or inside it in a wheel.

Source    ours: docs/architecture/set-up.md
"""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
IN_A_WHEEL = PACKAGE / "examples"  # The place to which setup.py copies both folders.
ROOT = IN_A_WHEEL if IN_A_WHEEL.is_dir() else PACKAGE.parent
FOLDERS = ("scenarios", "data")  # These folders must be siblings, because scenarios refer to ../data/...
SCENARIOS = ROOT / "scenarios"
PAPERS = ROOT / "data" / "papers"
