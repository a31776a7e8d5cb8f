"""Who plays in one run with programs: what each is told of the run at its start, and what becomes of all at its end.

Model     nothing is started before the run begins. The names of buffers are those that the first program of a role says
          in its answer to its first start; what it says later must be among them
Units     bytes; time in nanoseconds
Errors    ProgramError
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mobilenet.engine.random_streams import key_of
from mobilenet.programs.actions import Role
from mobilenet.programs.children import Children
from mobilenet.programs.conversation import Conversation
from mobilenet.programs.message import Says, encode

VERSION = 1
Note = Any  # (time_ns, node, life, from_program, line) -> None


class Setting(NamedTuple):
    """What a scenario says of its programs."""

    commands: Mapping[Role, Sequence[str]]
    settings: Mapping[str, Any]
    answer_within_s: float
    folder: Path
    seed: int
    counts: Mapping[str, int]  # stations and hosts, or n: told at each start


class Cast:
    """Of one run. `errors_into`: where standard error is kept; `note`: told of each line, both ways."""

    def __init__(self, setting: Setting, errors_into: Path | None = None, note: Note = None) -> None:
        self.setting = setting
        self.note = note
        self.buffers: dict[Role, tuple[str, ...]] = {}
        self.kinds: dict[str, type[Says]] = {}  # of messages, by name
        self._lives: dict[str, int] = {}
        self._children = Children(setting.folder, errors_into)
        self._talking: dict[str, Conversation] = {}

    def start(self, role: Role, me: int) -> tuple[Conversation, int]:
        """The program of a node, and which of its lives this is, from 1."""
        name = f"{role[0]}{me}"
        life = self._lives[name] = self._lives.get(name, 0) + 1
        child = self._children.spawn(name, self.setting.commands[role])
        talk = self._talking[name] = Conversation(self._children, child, name, self.setting.answer_within_s)
        return talk, life

    def introduction(self, role: Role, me: int, stable: str) -> str:
        """What a start tells, as members of an object. `stable`: as JSON."""
        setting = self.setting
        told = {
            "v": VERSION,
            "role": role,
            "me": me,
            **setting.counts,
            "seed": key_of(setting.seed, "program", f"{role[0]}{me}")[:8].hex(),
            "settings": setting.settings,
        }
        return f'{encode(told)[1:-1]},"stable":{stable}'

    def end_life(self, name: str) -> None:
        """A crash, or the host is gone: its program and the process group are killed."""
        talk = self._talking.pop(name, None)
        if talk is not None:
            talk.end()

    def end(self, now: int) -> None:
        """The run is over."""
        for talk in self._talking.values():
            talk.tell_end(f'{{"ev":"stop","t":{now}}}')
        self._talking.clear()
        self._children.close()
