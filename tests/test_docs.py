"""Every command in the README runs, and says what it should."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [line.strip() for line in README.splitlines() if re.match(r" {4}(mobilenet|python -m) ", line)]
SETUP = [line.strip() for line in README.splitlines() if re.match(r" {4}(make|python3 make.py) ", line)]


def run(command: str, folder: Path, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command)
    program = [sys.executable] if words[0] == "python" else [str(Path(sys.executable).parent / words[0])]
    env = os.environ | {"PYTHONPATH": str(ROOT), "MPLCONFIGDIR": str(folder)}
    return subprocess.run(
        [*program, *words[1:]], cwd=folder, env=env, capture_output=True, text=True, timeout=timeout_s
    )


def test_commands_of_the_tour(tmp_path: Path) -> None:
    """One after the other, as a reader would, in a folder with the scenarios of the clone."""
    for name in ("scenarios", "data"):
        (tmp_path / name).symlink_to(ROOT / name)
    assert len(COMMANDS) >= 20
    for command in COMMANDS:
        done = run(command, tmp_path)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert "Next: " in done.stdout.splitlines()[-1], command
    for made in ("map.html", "report.html", "figures/field.png", "spacetime-h3-handoff-1.svg"):
        assert (tmp_path / "runs/first" / made).stat().st_size > 10_000


def test_the_python_example(tmp_path: Path) -> None:
    code = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert code is not None
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    done = subprocess.run([sys.executable, "-c", code[1]], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("valid 0.0")


def test_the_tutorial(tmp_path: Path) -> None:
    env = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, ROOT / "scenarios" / "tutorial.py"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("Next: open ")


def test_make_offers_what_the_readme_says() -> None:
    offered = subprocess.run(
        [sys.executable, "make.py", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60
    ).stdout
    assert {"make demo", "make test"} <= set(SETUP)
    for command in SETUP:
        assert command.split()[-1] in offered
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make ([a-z-]+)`", README + (ROOT / "DESIGN.md").read_text(encoding="utf-8")):
        assert target in makefile and target in offered, target


@pytest.mark.parametrize("name", ["README.md", "DESIGN.md", "CHANGELOG.md"])
def test_files_that_the_documents_name_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = set(
        re.findall(
            r"`((?:tests|viz|data|scenarios|mobilenet|protocols|radio|wired)/[\w/.]*\w\.\w+"
            r"|(?:tests|wired|radio)/[\w/]*)`",
            text,
        )
    )
    named |= set(re.findall(r"\]\(([^)#]+\.\w+)\)", text))
    assert "@@" not in text
    for path in named:
        assert (ROOT / path).exists() or (ROOT / "mobilenet" / path).exists(), path
