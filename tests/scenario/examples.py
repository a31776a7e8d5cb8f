"""Copy the shipped plug-ins and edit the copies."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "scenarios"


def edit(folder: Path, example: str, old: str, new: str) -> Path:
    """Copy an example, such as `own_protocol/ring`, into the folder and edit its code. Return the scenario of the
    copy.
    """
    source = FOLDER / example
    text = source.with_suffix(".py").read_text(encoding="utf-8")
    assert old in text
    (folder / f"{source.name}.py").write_text(text.replace(old, new, 1), encoding="utf-8")
    scenario = folder / f"{source.name}.yaml"
    scenario.write_text(source.with_suffix(".yaml").read_text(encoding="utf-8"), encoding="utf-8")
    return scenario
