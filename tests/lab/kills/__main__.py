"""Kill every command that writes files, together with all its processes, at random moments. Then call the command
again.

    python -m tests.lab.kills --seed 1 --times 20 [name ...]

Errors    The exit code is 1 if a file was incomplete, or if files or processes remained. The first lines of each
          problem are printed.
Source    ours: docs/validation/trust.md
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import mobilenet
from tests.cli.test_option_effects import make_inputs

from .commands import COMMANDS, MORE_INPUTS
from .trials import Trials, call


def load_modules() -> None:
    """Import all modules before a process is forked. Kills then interrupt the command itself, and not its imports."""
    for module in walk_packages(mobilenet.__path__, "mobilenet."):
        if not module.name.endswith("__main__") and ".bench" not in module.name:
            import_module(module.name)
    for name in ("viz.report", "viz.map", "viz.figures", "viz.robust", "viz.style", "pyspark", "scipy.stats"):
        import_module(name)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.lab.kills", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="name", help=f"[all of: {', '.join(COMMANDS)}]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=20, help="moments for each command [20]")
    parser.add_argument("--inputs", type=Path, help="folder in which the inputs are kept for the next call")
    options = parser.parse_args()
    # Hide the Git clone, so that files stay the same even if it changes during the test.
    os.environ["GIT_DIR"] = os.devnull
    load_modules()
    problems = 0
    # Forked processes would remove a TemporaryDirectory when they end.
    folder = Path(tempfile.mkdtemp(prefix="mobilenet-kills-"))
    try:
        inputs = options.inputs or folder / "inputs"
        prepare(inputs)
        for name in options.names or COMMANDS:
            problems += report(name, options.seed, options.times, inputs, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if problems else 0


def prepare(inputs: Path) -> None:
    if (inputs / "work").is_dir():
        return
    (inputs / "work").mkdir(parents=True)
    (inputs / "tmp").mkdir()
    child = os.fork()  # This process never runs a command before it forks.
    if child == 0:
        make_inputs(inputs / "work")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    for words in MORE_INPUTS:
        assert call(words, inputs).code == 0, (inputs / "err").read_text()


def report(name: str, seed: int, times: int, inputs: Path, folder: Path) -> int:
    """Kill a command repeatedly. Print the trials that had problems, and return their number."""
    began = time.monotonic()
    trials = Trials(COMMANDS[name], inputs / "work", folder)
    counts: Counter[str] = Counter()
    for moment_s in trials.moments_s(times, random.Random(f"{seed} {name}")):
        trial = trials.trial(moment_s)
        counts[trial.outcome] += 1
        counts["killed"] += trial.was_killed
        counts["problems"] += bool(trial.problems)
        for problem in trial.problems[:6]:
            print(f"  {name} at {moment_s:.3f} of {trials.whole.call.took_s:.3f} s: {problem}", flush=True)
    outcomes = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    print(f"{name}: {times} moments: {outcomes or 'none'}; {time.monotonic() - began:.0f} s", flush=True)
    return counts["problems"]


if __name__ == "__main__":
    sys.exit(main())
