"""A station whose protocol is a program. It implements StationProtocol of protocols/port.py, hook by hook.

Model     The program starts before anything else happens. Its station never crashes
Units     integer nanoseconds, bytes
Source    ours: docs/guide/programs.md
"""

from __future__ import annotations

from typing import Any

from mobilenet.lab.programs.message import Says
from mobilenet.lab.programs.party import Party, says
from mobilenet.lab.programs.run_programs import Cast
from mobilenet.quoting import there_are


class ProgramStation(Party):
    role = "station"

    def __init__(self, cast: Cast, port: Any, wired: Any, stations: int) -> None:
        super().__init__(cast, port)
        self._wired = wired
        self._stations = stations
        self._serves: dict[int, bool] = {}
        self._does |= {
            "wire": self._wire,
            "expired": lambda action: port.expired(self.require_there("host", action["host"])),
            "serves": self._say_serves,
        }
        port.timer(self.begin).start(0)  # The timer starts the program later, because the network is not complete yet.

    def on_wired(self, source: int, message: Says) -> None:
        self.tell("wire", f',"from":{source},"message":{message.text}')

    def serves(self, host: int) -> bool:
        return self._serves.get(host, True)

    def _wire(self, action: dict[str, Any]) -> None:
        to = action["to"]
        if to is None:
            self._wired.broadcast(says(action, self._cast.kinds))
        elif to >= self._stations or to == self.port.me:
            raise ValueError(
                f"station {to} is not another station; {there_are(self._stations, 'station')}, and this one is"
                f" {self.port.me}"
            )
        else:
            self._wired.send(to, says(action, self._cast.kinds))

    def _say_serves(self, action: dict[str, Any]) -> None:
        self._serves[self.require_there("host", action["host"])] = action["value"]
