"""Run the long commands that documents quote within a line of text. The tests do not run these commands.

    python -m tests.long_docs [--list]

Model     The program extracts every complete `mobilenet ...` and `python -m ...` command from README.md,
          CONTRIBUTING.md and docs/, that is, every command without placeholders such as RUN or [--seed N]. It runs them
          in a temporary folder with the scenarios, after the commands that the tests run.
Units     minutes; the whole program takes about an hour and a half on two cores
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
import time
from pathlib import Path

from tests.test_docs import COMMANDS, DOCUMENTS, ROOT, commands_in, in_a_process, text_of

PLACEHOLDER = re.compile(r"\\|[\[|…]|\b[A-Z]{2,}\b|<")
BESIDE = (
    "python -m validation.calibrate",  # sweeps the radio settings for hours
    "python -m validation.variants",  # takes hours
    "mobilenet claims scenarios/claims/paper_bundling.yaml",  # takes hours
    "mobilenet claims scenarios/claims/paper_mobile.yaml",  # Some claims are undecided, as documented.
    "mobilenet claims scenarios/claims/paper_engineering.yaml",  # Some claims are undecided, as documented.
    "python -m tests.test_fingerprints --renew",  # This command and the next four write into the clone.
    "python -m validation.fading fading",
    "python -m validation.repairs repair_standing repair_walking",
    "python -m tests.write_verdict_tables",
    "python -m tests.world.tracks.writers",
    "python -m tests.protocols.mobile_causal.mutants",  # stops at a time limit
    "python -m tests.lab.hunt.exhaustion.page",  # needs the output of other commands
    # The next two runs violate a promise, as documented.
    "mobilenet run scenarios/own_promise/prompt.yaml --allow-code",
    "mobilenet run scenarios/own_protocol/gossip.yaml --allow-code --set protocol.promises=causal",
)


def long_commands() -> list[str]:
    commands = []
    for name in DOCUMENTS:
        if name != "CHANGELOG.md":
            commands += re.findall(r"`((?:mobilenet|python -m) [^`\n]+)`", text_of(name))
            commands += [command for command in commands_in(name) if command not in COMMANDS]
    return [
        command
        for command in dict.fromkeys(commands)
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
            done = in_a_process(shlex.split(command), folder, timeout_s=3600)
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
