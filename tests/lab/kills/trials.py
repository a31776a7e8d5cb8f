"""Kill a command at random moments, inspect the files that it leaves, and call the command again.

Model     The working folder of a trial is a copy of the inputs, and each trial has a separate temporary folder. The
          command runs in a process group, and the whole group is killed. The test first measures a call without a
          kill. Half of the kills occur at any moment of this duration, more often near its end. The other half
          follow a system call that opens or renames a file.
Checks    Each file under its final name is the same as before, the same as after an undisturbed call, or complete in
          its format. A command that reads the files never ends with a traceback. Calling the same command again gives
          the same result, or reports in one line which file or folder is in the way. After that, neither other files
          nor processes remain.
Needs     Linux
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import random
import re
import shutil
import signal
import sys
import time
import traceback
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pyarrow.parquet as pq

from mobilenet.parameters import ScenarioError
from mobilenet.scenario.yaml_reader import parse

from .commands import Command

MARK = "MOBILENET_KILLS"  # environment variable of all processes of a trial
ENDS_WITHIN_S = 60.0  # Processes that outlive the group, such as those of Spark, must end within this time.
LONGEST_S = 240.0
ATTEMPTS = 3  # A command may end before the chosen moment, so a trial makes up to three attempts.
# The names of these files depend on how the runs are divided into tasks, which changes after an interruption.
PARTS = "measured/"
TIMED = "manifest.json"  # The wall time in this file may be equal in two calls by chance.
OF_PROCESSES = re.compile(r"(^|/)__pycache__/|\.pyc$")  # Python writes these cache files next to plug-ins.


class Call(NamedTuple):
    """The result of a call. `code` is None if the call was killed."""

    code: int | None
    out: str
    err: str
    took_s: float


class Whole(NamedTuple):
    """The results of undisturbed calls, with which the results after a kill are compared."""

    call: Call
    files: dict[str, str]  # file name -> digest, or "" if the content differs between undisturbed calls
    contents: dict[str, bytes]
    file_moments_s: list[float]


class Trial(NamedTuple):
    moment_s: float
    was_killed: bool
    outcome: str  # either continued or refused
    problems: list[str]


def start(words: str, place: Path, moments: Path | None = None) -> int:
    """Start a command in a forked process that leads a separate group. The command writes the times at which it opens
    or renames files to `moments`.
    """
    for name in ("out", "err"):
        (place / name).write_text("")
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.setsid()
        os.chdir(place / "work")
        os.environ["TMPDIR"] = str(place / "tmp")
        os.environ[MARK] = str(place)
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(place / name, os.O_WRONLY), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv = ["mobilenet", *words.split()]
        code = _call(sys.argv[1:], moments)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _call(words: list[str], moments: Path | None) -> int:
    from mobilenet.cli.main import app

    began, noted = time.monotonic(), list[float]()

    def note(event: str, arguments: tuple[object, ...]) -> None:
        opens = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if opens or event in ("os.rename", "os.mkdir", "os.rmdir", "os.remove", "shutil.rmtree"):
            noted.append(time.monotonic() - began)

    if moments is not None:
        sys.addaudithook(note)
    try:
        code = app(words, prog_name="mobilenet")
    except SystemExit as ended:
        code = ended.code
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if moments is not None:
        moments.write_text(json.dumps(noted[:]))
    return int(code or 0)


def finish(child: int, place: Path, began: float, within_s: float = LONGEST_S) -> Call:
    """Wait for a command to end, and kill its whole group if it takes longer than `within_s`."""
    code = None
    while time.monotonic() < began + within_s:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            break
        time.sleep(min(0.002, max(0.0, began + within_s - time.monotonic())))
    took_s = time.monotonic() - began
    if code is None:
        with suppress(ProcessLookupError):  # The process has not created its group yet.
            os.killpg(child, signal.SIGKILL)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    texts = [(place / name).read_text(encoding="utf-8", errors="replace") for name in ("out", "err")]
    return Call(code, texts[0], texts[1], took_s)


def call(words: str, place: Path, moments: Path | None = None) -> Call:
    began = time.monotonic()
    return finish(start(words, place, moments), place, began)


def processes_of(place: Path) -> list[int]:
    """Return the processes of a trial that are still running, except this one."""
    mark, numbers = f"{MARK}={place}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                numbers.append(int(folder.name))
        except OSError:
            continue
    return numbers


def files_in(place: Path) -> dict[str, bytes]:
    """Return the contents of the files by name. The name of a folder ends with a slash, and its content is empty."""
    contents = {}
    for path in sorted((place / "work").rglob("*")):
        name = str(path.relative_to(place / "work"))
        if not OF_PROCESSES.search(name + "/" * path.is_dir()):
            contents[name + "/" * path.is_dir()] = b"" if path.is_dir() else path.read_bytes()
    return contents


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Trials:
    """Kills one command repeatedly, and compares the files that each call leaves."""

    def __init__(self, command: Command, inputs: Path, folder: Path) -> None:
        self._command, self._inputs, self._folder = command, inputs, folder
        self._before = files_in(self._fresh("before"))
        self.whole = self._measure()
        for reader in command.readers:  # Some of these commands write files, too.
            call(reader, folder / "trial")
        self._allowed = {*self._before, *self.whole.files, *files_in(folder / "trial")}

    def _fresh(self, name: str) -> Path:
        place = self._folder / name
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self._inputs, place / "work")
        (place / "tmp").mkdir()
        return place

    def _measure(self) -> Whole:
        calls, contents = [], []
        for _ in range(2):
            place = self._fresh("trial")
            calls.append(call(self._command.words, place, place / "moments"))
            contents.append(files_in(place))
            moments = json.loads((place / "moments").read_text())
            assert "Traceback" not in calls[-1].err and calls[-1].code is not None, calls[-1]
            if left := [path.name for path in (place / "tmp").iterdir()]:
                raise AssertionError(f"{self._command.words}: leaves {left} in the temporary folder")
        names = contents[0].keys() | contents[1].keys()
        files = {
            name: digest(contents[0][name])
            if contents[0].get(name) == contents[1].get(name) and not name.endswith(TIMED)
            else ""
            for name in names
        }
        return Whole(calls[1], files, contents[1], moments)

    def moments_s(self, times: int, draws: random.Random) -> list[float]:
        took_s, near = self.whole.call.took_s, self.whole.file_moments_s
        anywhere = [took_s * (1 - draws.random() ** 2) for _ in range(times - times // 2)]
        at_files = [draws.choice(near or [took_s]) + draws.uniform(0, 0.01) for _ in range(times // 2)]
        return anywhere + at_files

    def trial(self, moment_s: float) -> Trial:
        for _ in range(ATTEMPTS):
            place = self._fresh("trial")
            began = time.monotonic()
            killed = finish(start(self._command.words, place), place, began, moment_s)
            if killed.code is None:
                break
            # The command ended early, because the machine was less busy than during the measurement.
            moment_s *= killed.took_s / max(self.whole.call.took_s, moment_s)
        problems = list(self._remaining_processes(place))
        problems += self._half_written(place)
        for reader in self._command.readers:
            problems += self._reading(reader, place)
        again = call(self._command.words, place)
        outcome, more = self._outcome(again, place)
        return Trial(moment_s, killed.code is None, outcome, [*problems, *more, *self._leftovers(place)])

    def _remaining_processes(self, place: Path) -> Iterator[str]:
        deadline = time.monotonic() + ENDS_WITHIN_S
        while (left := processes_of(place)) and time.monotonic() < deadline:
            time.sleep(0.05)
        for number in left:
            words = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ")[:200]
            yield f"process {number} outlives its group: {words.decode(errors='replace')}"
            os.kill(number, signal.SIGKILL)

    def _half_written(self, place: Path) -> Iterator[str]:
        for name, content in files_in(place).items():
            final = not any(part.startswith(".") for part in Path(name).parts)
            known = (self._before.get(name), self.whole.contents.get(name))
            if final and not name.endswith("/") and content not in known and (how := fault_of(name, content, known[1])):
                yield f"{name}: {how}"

    def _reading(self, words: str, place: Path) -> Iterator[str]:
        done = call(words, place)
        if done.code not in (0, 1, 2) or is_crash(done):
            yield f"{words}: ends with {done.code}: {done.err[-500:]}"
        if done.code == 2 and (done.err.count("\n") != 1 or (done.out and "unfinished" not in done.out)):
            yield f"{words}: does not refuse in one line: {done.out[-200:]}{done.err[-500:]}"
        runs = {name for name in self.whole.files if name.endswith("/manifest.json")}
        if done.code == 0 and "show" in words and not runs <= {*files_in(place)} and "unfinished" not in done.out:
            yield f"{words}: does not say that something is missing: {done.out[:300]}"

    def _outcome(self, again: Call, place: Path) -> tuple[str, list[str]]:
        if is_crash(again):
            return "crashed", [f"again: {again.err[-800:]}"]
        if again.code == 2 and self.whole.call.code != 2:
            problems = [] if again.err.count("\n") == 1 else [f"again: not one line: {again.err[-500:]}"]
            return "refused", [*problems, *([] if "new" in again.err else [f"again: names nothing: {again.err}"])]
        if again.code != self.whole.call.code:
            return "failed", [f"again: exit code {again.code}, not {self.whole.call.code}: {again.err[-500:]}"]
        contents = files_in(place)
        different = [
            name
            for name, expected in self.whole.files.items()
            if PARTS not in name and (name not in contents or expected not in ("", digest(contents[name])))
        ]
        return "continued", [f"again: {name} is not as in an undisturbed call" for name in different]

    def _leftovers(self, place: Path) -> Iterator[str]:
        for name in files_in(place):
            is_part = PARTS in name and not Path(name).name.startswith(".")
            if name not in self._allowed and not is_part:
                yield f"remains: {name}"
        yield from (f"remains in the temporary folder: {path.name}" for path in (place / "tmp").iterdir())
        yield from (f"remains: ../{path.name}" for path in place.glob(".*"))


def is_crash(done: Call) -> bool:
    text = done.out + done.err
    return done.code is None or done.code < 0 or "Traceback" in text or "internal error" in text


def fault_of(name: str, content: bytes, whole: bytes | None) -> str | None:
    """Return a description of how a file is incomplete, or None if it is complete."""
    if whole is not None and len(content) < len(whole) and whole.startswith(content):
        return f"has only the first {len(content)} of {len(whole)} bytes"
    try:
        _read(Path(name).suffix.lower(), content)
    except (ValueError, OSError, ElementTree.ParseError, ScenarioError, zipfile.BadZipFile) as error:
        return f"cannot be read: {type(error).__name__}: {error}"
    return None


def _read(suffix: str, content: bytes) -> None:
    import io

    if suffix in (".json", ".geojson"):
        json.loads(content)
    elif suffix == ".parquet":
        pq.read_table(io.BytesIO(content))
    elif suffix == ".zip":
        if zipfile.ZipFile(io.BytesIO(content)).testzip():
            raise ValueError("damaged")
    elif suffix == ".yaml":
        parse(content, "it")
    elif suffix == ".svg":
        ElementTree.fromstring(content)
    else:
        ends = {".png": b"IEND\xaeB`\x82", ".pdf": b"%%EOF\n", ".html": b"</html>", ".jsonl": b"\n", ".csv": b"\n"}
        if not content.rstrip(b"" if suffix != ".html" else None).endswith(ends.get(suffix, b"")):
            raise ValueError(f"does not end as a {suffix}")
