"""Manage the programs of one run: what each of them is told about the run at its start, and how they end.

Model     Programs start when the run begins. The first program of a role gives the names of buffers in its answer to
          its first start event; later names must be among these. A program may use a clock that is not the emulated
          one, and the emulator cannot know what such a program would still do. If a delivery is missing when the run is
          over, programs have LISTENS_S of wall time to report that they use such a clock; the first report ends the
          wait
Units     bytes; time in nanoseconds, or in seconds where names show it
Errors    ProgramError
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.engine.random_streams import key_of
from mobilenet.lab.programs.children import Children
from mobilenet.lab.programs.conversation import Conversation, decode
from mobilenet.lab.programs.message import Says, encode
from mobilenet.record.actions import Role
from mobilenet.simulation.parties import Parties

VERSION = 1
# If a delivery is missing at the end of a run, mobilenet waits this long for programs to report that they use a
# separate clock.
LISTENS_S = 10.0
OWN_CLOCK = {"do": "own_clock"}
Note = Any  # (time_ns, node, life, from_program, line) -> None


class Setting(NamedTuple):
    """The settings that a scenario declares for its programs."""

    commands: Mapping[Role, Sequence[str]]
    settings: Mapping[str, Any]
    answer_within_s: float
    folder: Path
    seed: int
    counts: Mapping[str, int]  # the numbers of stations and hosts, or n; they are part of each start event


class Cast(Parties):
    """The programs of one run. Their standard error is stored in `errors_into`. `note` is called for each line, in both
    directions.
    """

    def __init__(self, setting: Setting, errors_into: Path | None = None, note: Note = None) -> None:
        self.setting = setting
        self.note = note
        self.buffers: dict[Role, tuple[str, ...]] = {}
        self.own_clock: list[str] = []
        self.kinds: dict[str, type[Says]] = {}  # name of a kind of message -> its class
        self._lives: dict[str, int] = {}
        self._children = Children(setting.folder, errors_into)
        self._talking: dict[str, Conversation] = {}

    def start(self, role: Role, me: int) -> tuple[Conversation, int]:
        """Start the program of a node. Return the conversation with it, and the number of this life of the node,
        starting at 1.
        """
        name = f"{role[0]}{me}"
        life = self._lives[name] = self._lives.get(name, 0) + 1
        child = self._children.spawn(name, self.setting.commands[role])
        talk = self._talking[name] = Conversation(self._children, child, name, self.setting.answer_within_s)
        return talk, life

    def why_not_begun(self) -> str:
        """Return a hint for a program that fails to start in the directory of a run or a study, because this contains
        only the files that its scenario names. Otherwise, return an empty string.
        """
        folder = self.setting.folder
        if not (folder / "manifest.json").is_file() and folder.parent.name != "configurations":
            return ""
        return (
            "; if the program loads other files, name them in protocol.files of the original scenario and run it again"
        )

    def introduction(self, role: Role, me: int, stable: str) -> str:
        """Return the contents of a start event, as members of a JSON object. `stable` is JSON."""
        setting = self.setting
        content = {
            "v": VERSION,
            "role": role,
            "me": me,
            **setting.counts,
            "seed": key_of(setting.seed, "program", f"{role[0]}{me}")[:8].hex(),
            "settings": setting.settings,
        }
        return f'{encode(content)[1:-1]},"stable":{stable}'

    def end_life(self, name: str) -> None:
        """End a life of a node. The program and its process group are killed."""
        talk = self._talking.pop(name, None)
        if talk is not None:
            talk.end()

    def end(self, now_ns: int, is_owed: bool = False) -> None:
        """End all programs. If a delivery is missing (`is_owed`), first wait for programs that report a separate clock,
        and add their names to `own_clock`.
        """
        listens_s = LISTENS_S if is_owed else 0.0
        more = f',"listens_s":{listens_s:g}' if is_owed else ""
        for talk in self._talking.values():
            talk.tell_end(f'{{"ev":"stop","t":{now_ns}{more}}}')
        names = {talk.child: name for name, talk in self._talking.items()}
        self._talking.clear()
        clock_children = self._children.close(listens_s, _says_own_clock)
        if is_owed:
            self.own_clock += [names[child] for child in clock_children if child in names]


def _says_own_clock(line: bytes) -> bool:
    try:
        return bool(decode(line.decode()) == OWN_CLOCK)
    except (ValueError, RecursionError):
        return False
