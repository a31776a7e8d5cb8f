from dataclasses import dataclass

from mobilenet.metrics import Record
from mobilenet.protocols.base import BaseHost, BaseMessage, BaseStation
from mobilenet.protocols.port import MessageId
from mobilenet.verify import promise


@dataclass(frozen=True)
class Parcel(BaseMessage):
    id: MessageId
    payload_bytes: int


class Host(BaseHost):
    def spread(self, message: MessageId, body: int) -> None:  # wait for a random time, to avoid collisions
        if (cell := self.cell) is not None:
            self.later(self.port.uniform(0, 0.1), lambda: self.port.send(cell, Parcel(message, body)))

    def on_receive(self, sender: int, parcel: Parcel) -> None:
        if self.stable.member and parcel.id.host != self.port.me:
            self.port.deliver(parcel.id, parcel.payload_bytes)


class Station(BaseStation):
    def on_receive(self, sender: int, parcel: Parcel) -> None:
        self.port.broadcast(parcel)

    on_wired = on_receive


@promise("each delivery comes at most 50 ms after the broadcast")
def prompt_delivery(run: Record) -> str | None:
    late = [one for one in run.deliveries() if one.delay_s > 0.05]
    return f"{late[0].node} delivers {late[0].message} only after {late[0].delay_s:.3f} s" if late else None


class Prompt:
    host, station, promises, checks = Host, Station, "best_effort", (prompt_delivery,)
