"""Enter a node of a run with programs, either with a shell or with a single command.

Errors    one line for a run that is not in progress, or for a node that does not exist
Source    ours: docs/guide/real-software.md
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mobilenet.cli.console import Exit, fail
from mobilenet.quoting import quote


def require_shell(protocol: Any, node: str | None) -> None:
    """Exit with an error unless this protocol can give the node a shell."""
    if node is not None and protocol.name != "ip":
        fail(f"--shell {node}: the scenario has protocol.name: {protocol.name}; expected ip", Exit.BAD_INPUT)


@contextmanager
def shell_of(node: str | None, stop_reasons: list[str]) -> Iterator[tuple[str, int] | None]:
    """Yield a pseudo-terminal for a node's shell, connected to this terminal. When the shell ends, append the reason
    for ending the run to `stop_reasons`.
    """
    if node is None:
        yield None
        return
    from mobilenet.lab.programs.namespaces.terminal import connect, new_pseudo_terminal

    ours, theirs = new_pseudo_terminal()
    over = threading.Event()

    def serve() -> None:
        connect(ours, over.is_set)
        stop_reasons.append("the end of the shell")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield node, theirs
    finally:
        over.set()
        thread.join()
        os.close(ours)


def enter(run: Path, shell: str | None, exec_in: str | None, words: Sequence[str]) -> int:
    """Run a shell, or the command in `words`, in a node of a run in progress. Return its exit code."""
    from mobilenet.lab.programs.namespaces.machines import entering
    from mobilenet.lab.programs.realtime.tunnels import shell_command

    node = shell or exec_in
    if node is None or (shell is None) == (not words):
        fail("--join: expected --shell NODE, or --exec NODE -- COMMAND", Exit.BAD_INPUT)
    machine = _machine(run, node)
    if os.getuid() == 0 and machine["order"]["become"] is None:
        fail(f"{quote(run)}: an ordinary user started this run; expected the same user, not root", Exit.BAD_INPUT)
    order = machine["order"] | {"command": list(words) or shell_command(), "on_terminal": shell is not None}
    command = entering(machine["pid"], order)
    return subprocess.call(command) if shell is None else _on_a_terminal(command)


def _machine(run: Path, node: str) -> dict[str, Any]:
    from mobilenet.lab.programs.realtime.tunnels import MACHINES

    files = sorted(run.parent.glob(f".{run.name}.partial-*/{MACHINES}"))
    machines: dict[str, Any] = json.loads(files[-1].read_text()) if files else {}
    if not machines:
        fail(f"{quote(run)}: expected a run in progress with protocol.name: ip", Exit.BAD_INPUT)
    if node not in machines:
        fail(f"{quote(run)}: {node} is not running now; expected one of {', '.join(machines)}", Exit.BAD_INPUT)
    return dict(machines[node])


def _on_a_terminal(command: Sequence[str]) -> int:
    from mobilenet.lab.programs.namespaces.terminal import connect, new_pseudo_terminal

    ours, theirs = new_pseudo_terminal()
    with subprocess.Popen(command, stdin=theirs) as child:
        os.close(theirs)
        connect(ours, lambda: child.poll() is not None)
    os.close(ours)
    return child.returncode
