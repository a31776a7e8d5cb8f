"""The long commands of the documents, one after the other: those inside a line of text, which the tests do not run.

    python -m tests.long_docs [--list]

Model     every `mobilenet ...` and `python -m ...` in README.md and DESIGN.md that is a whole command, that is, without
          placeholders such as RUN or [--seed N]. They run in a temporary folder with the scenarios, after those of
          the tour
Units     minutes: about an hour and a half in all, on two cores
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path

from tests.test_docs import COMMANDS, ROOT, run

PLACEHOLDER = re.compile(r"\\|[\[|…]|\b[A-Z]{2,}\b|<")
BESIDE = ("python -m tests.calibrate",)  # the sweep of the radio settings takes hours


def long_commands() -> list[str]:
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "DESIGN.md"))
    found = re.findall(r"`((?:mobilenet|python -m) [^`\n]+)`", text)
    return [
        command
        for command in dict.fromkeys(found)
        if len(command.split()) > 2 and not PLACEHOLDER.search(command) and command not in BESIDE
    ]


def main() -> int:
    commands = long_commands()
    if "--list" in sys.argv:
        print("\n".join(commands))
        return 0
    failed = 0
    with tempfile.TemporaryDirectory(prefix="mobilenet-docs-") as name:
        folder = Path(name)
        for part in ("scenarios", "data", "tests", "mobilenet", "viz"):
            (folder / part).symlink_to(ROOT / part)
        for command in [*COMMANDS, *commands]:
            begun = time.monotonic()
            done = run(command, folder, timeout_s=3600)
            failed += done.returncode != 0
            print(
                f"{'ok' if done.returncode == 0 else 'FAILED'} {time.monotonic() - begun:5.0f} s  {command}", flush=True
            )
            if done.returncode:
                print(done.stdout[-1000:] + done.stderr[-1000:])
    print(f"{len(COMMANDS) + len(commands)} commands, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
