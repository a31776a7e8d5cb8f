"""Export a run as an eventlog of OMNeT++, for its Sequence Chart and opp_eventlogtool.

Model     A hop is one row of the table of messages: its send (BS, SD) and, if it arrived, its arrival (E with `msg`).
          Without that table, the hops come from the table of causes, or from the pairs of frames. Each row of the
          record's events becomes a line of text. Everything that happened at one node at one time becomes one event
          (E without `msg`). With the table of causes, a send belongs to the arrival or timer that led to it, and its
          delay (`sd`) is the time for which the frame then waited
Form      All copies of one send have the same `tid`. A hop that was lost ends with DM and the reason
Units     seconds with nine decimals; lengths in bits
Shapes    hops: columns of HOP, a row for each hop
Source    OMNeT++ 6.1, Simulation Manual, appendix "Eventlog File Format"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mobilenet.lab.export.omnetpp_names import KINDS, NETWORK, line, local_name, nodes_of, seconds
from mobilenet.quoting import spell_out
from mobilenet.record.kinds import run_kind
from mobilenet.record.reader import read_frame

if TYPE_CHECKING:
    import pandas as pd

    from mobilenet.lab.export.omnetpp import OpenRun

VERSIONS = "ov 1537 ev 2"  # versions of OMNeT++ (6.1) and of its eventlog format
HOP = ["send_ns", "receive_ns", "sender", "receiver", "medium", "kind", "size_bytes", "fate", "message"]
MOMENT = ["time_ns", "node"]
# The reason for losing a message on a link: the receiver is down, or the run ends before the message arrives.
UNKNOWN = "no arrival on record"
NEVER = -1  # marks the arrival time of a lost hop, and any other missing number
FIRST = 2  # module number of the first node; the network is module 1
# Simultaneous events are sorted by these numbers. AT_ONCE is an arrival without any delay.
ARRIVAL, LOCAL, AT_ONCE = range(3)
SOURCES = ("messages", "causes", "frames")


def write_eventlog(run: OpenRun, target: Path) -> str | None:
    """Write the eventlog. If the run did not record its hops, return the setting that would record them."""
    source = next((name for name in SOURCES if (run.folder / f"{name}.parquet").exists()), None)
    causes = read_frame(run.folder, "causes") if (run.folder / "causes.parquet").exists() else None
    module_ids = {node: module for module, node in enumerate(nodes_of(run.manifest), FIRST)}
    entries, hops, rows = _entries(_hops(run.folder, source, causes), read_frame(run.folder, "events"), causes)
    with target.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f"SB {VERSIONS} {line('rid', run.id)}\nE # 0 t 0 m 1 ce -1 msg -1\n")
        file.write(f"MC id 1 c Network t mobilenet.Network {line('n', NETWORK)[:-1]} cm 1\n")
        for node, module in module_ids.items():
            kind = KINDS[node[:1]][:1].upper() + KINDS[node[:1]][1:]
            file.write(f"MC id {module} c {kind} t mobilenet.{kind} pid 1 n {local_name(node)}\n")
        sends, lines = _Cursor(hops.itertuples()), _Cursor(rows.itertuples())
        for entry in entries.itertuples():
            number, begun_ns, place = entry.number, entry.time_ns, module_ids[entry.node]
            file.write(f"\nE # {number} t {seconds(begun_ns)} m {place} ce {entry.cause} msg {entry.hop}\n")
            if entry.timer != NEVER:
                file.write(f"- timer {_words(entry.kind)}\n")
            for row in lines.take(number):
                file.write(f"- {_words(row.event, row.message, row.station, row.detail)}\n")
            for hop in sends.take(number):
                file.write(_send(hop, module_ids, begun_ns))
        file.write("\n")
    return None if source else run_kind(run.manifest).hops_key


class _Cursor:
    """Yields the rows of one event at a time. The rows must be sorted by their events."""

    def __init__(self, rows: Iterator[Any]) -> None:
        self._rows, self._next = rows, next(rows, None)

    def take(self, number: int) -> Iterator[Any]:
        while self._next is not None and self._next.number == number:
            yield self._next
            self._next = next(self._rows, None)


def _words(*words: object) -> str:
    return spell_out(" ".join(" ".join(word.split()) for word in words if isinstance(word, str)))


def _send(hop: Any, module_ids: Mapping[str, int], begun_ns: int) -> str:
    """Return the lines for a send. It belongs to an event that began at `begun_ns`."""
    name = hop.message if isinstance(hop.message, str) and hop.message else hop.kind
    sender, receiver = module_ids[hop.sender], module_ids[hop.receiver]
    length = f" l {8 * hop.size_bytes}" if hop.size_bytes >= 0 else ""
    about = (
        f"id {hop.Index} tid {hop.copy_of} eid {hop.Index} etid {hop.copy_of} {line('c', hop.kind)[:-1]}"
        f" {line('n', name)[:-1]}{length} sm {sender} st {seconds(hop.send_ns)} am {receiver} pe -1"
    )
    waited = f" sd {seconds(hop.send_ns - begun_ns)}" if hop.send_ns > begun_ns else ""
    text = f"BS {about}{waited}\nSD sm {sender} dm {receiver} dg -1\n"
    if hop.receive_ns == NEVER:
        return f"{text}- not received: {_words(hop.fate)}\nDM {about}\n"
    return f"{text}ES {about} at {seconds(hop.receive_ns)}\n"


def _hops(run: Path, source: str | None, causes: pd.DataFrame | None) -> pd.DataFrame:
    import pandas as pd

    if source == "messages":
        hops = read_frame(run, "messages", HOP)
        return hops.assign(receive_ns=hops.receive_ns.fillna(NEVER).astype(np.int64))
    if source == "causes" and causes is not None:
        return _hops_of_causes(causes)
    if source == "frames":
        columns = {"start_ns": "send_ns", "end_ns": "receive_ns", "psdu_bytes": "size_bytes"}
        pairs = read_frame(run, "frames").rename(columns=columns).assign(medium="radio", message=None)
        return pairs.assign(receive_ns=pairs.receive_ns.where(pairs.fate == "received", NEVER))[HOP]
    return pd.DataFrame({name: [] for name in HOP}).astype({"send_ns": np.int64, "receive_ns": np.int64})


def _hops_of_causes(causes: pd.DataFrame) -> pd.DataFrame:
    """Return the hops in the table of causes: one for each frame and each node that heard it, and one for each message
    on a link.
    """
    import pandas as pd

    heard = causes[causes.step.isin(["sent", "acknowledged"]) & (causes.heard != "")]
    pairs = heard.assign(heard=heard.heard.str.split()).explode("heard")
    parts = pairs.heard.str.split(":")
    is_received = parts.str.len() == 1
    radio = pairs.assign(
        send_ns=pairs.start_ns, receive_ns=pairs.end_ns.where(is_received, NEVER), sender=pairs.node,
        receiver=parts.str[0], medium="radio", fate=parts.str[-1].where(~is_received, "received"),
        message=pairs.messages,
    )  # fmt: skip
    wires, arrived = causes[causes.step == "wire"], causes[causes.step == "arrived"]
    receive_ns = pd.Series(arrived.time_ns.to_numpy(), arrived.cause).reindex(wires.index)
    links = wires.assign(
        send_ns=wires.time_ns, receive_ns=receive_ns.fillna(NEVER).astype(np.int64), sender=wires.node,
        receiver=wires.to, medium="wired", message=wires.messages,
    )  # fmt: skip
    links = links.assign(fate=np.where(links.receive_ns == NEVER, UNKNOWN, "received"))
    return pd.concat([radio[HOP], links[HOP]]).sort_values("send_ns", kind="stable", ignore_index=True)


def _reasons(hops: pd.DataFrame, causes: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each hop, the hop whose arrival caused its send, and the row of the timer that caused it. -1 means
    that there is no such hop or timer.
    """
    rows = causes.reset_index(names="row")
    numbered = hops[["send_ns", "sender", "receiver", "medium"]].reset_index(names="hop")
    is_wired = numbered.medium == "wired"
    sent = rows[rows.step.isin(["sent", "acknowledged"])].rename(columns={"start_ns": "send_ns", "node": "sender"})
    sent = sent.drop_duplicates(["send_ns", "sender"])[["send_ns", "sender", "row"]]
    radio = numbered[~is_wired].merge(sent, on=["send_ns", "sender"])
    wires = rows[rows.step == "wire"].rename(columns={"time_ns": "send_ns", "node": "sender", "to": "receiver"})
    link = ["send_ns", "sender", "receiver"]
    wired = numbered[is_wired].assign(nth=lambda of: of.groupby(link).cumcount())
    wired = wired.merge(wires[[*link, "row"]].assign(nth=lambda of: of.groupby(link).cumcount()), on=[*link, "nth"])

    cause, step = causes.cause.to_numpy(), causes.step.to_numpy()
    handler = np.full(len(hops), NEVER)
    queued = cause[radio.row]
    handler[radio.hop] = np.where(queued >= 0, cause[queued], NEVER)
    handler[wired.hop] = cause[wired.row]

    hop_of_wire = np.full(len(causes), NEVER)
    hop_of_wire[wired.row] = wired.hop
    heard = radio.drop_duplicates(["row", "receiver"])[["row", "receiver", "hop"]]
    heard = heard.rename(columns={"row": "handler", "receiver": "sender", "hop": "by_radio"})
    led = numbered.assign(handler=handler).merge(heard, on=["handler", "sender"], how="left")
    steps = np.where(handler >= 0, step[handler], "")
    arrivals = np.where(steps == "sent", led.by_radio.fillna(NEVER).astype(np.int64), NEVER)
    arrivals = np.where(steps == "arrived", hop_of_wire[cause[handler]], arrivals)
    return arrivals, np.where(steps == "timer", handler, NEVER)


def _entries(
    hops: pd.DataFrame, events: pd.DataFrame, causes: pd.DataFrame | None
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the events of the log, the hops, and the rows of recorded events. Hops and rows are sorted by the number
    of their event in the log.
    """
    import pandas as pd

    send, receive = hops.send_ns.to_numpy(), hops.receive_ns.to_numpy()
    by_arrival, by_timer = np.full((2, len(hops)), NEVER) if causes is None else _reasons(hops, causes)
    began = np.where(by_arrival == NEVER, NEVER, receive[by_arrival])
    is_led = (began != NEVER) & (began <= send)
    by_arrival = np.where(is_led, by_arrival, NEVER)
    is_own = (by_arrival == NEVER) & (by_timer == NEVER)

    arrived = np.flatnonzero(receive != NEVER)
    order = np.where(receive[arrived] == send[arrived], AT_ONCE, ARRIVAL)
    arrivals = pd.DataFrame({"time_ns": receive[arrived], "node": hops.receiver.iloc[arrived], "order": order})
    timers = events[:0].assign(kind=None) if causes is None else causes[causes.step == "timer"]
    of_sends = hops[is_own].rename(columns={"send_ns": "time_ns", "sender": "node"})[MOMENT]
    moments = pd.concat([events[MOMENT], of_sends]).drop_duplicates()
    parts = [
        arrivals.assign(hop=arrived, timer=NEVER, kind=""),
        timers[[*MOMENT, "kind"]].assign(order=ARRIVAL, hop=NEVER, timer=timers.index),
        moments.assign(order=LOCAL, hop=NEVER, timer=NEVER, kind=""),
    ]
    entries = pd.concat(parts, ignore_index=True).sort_values(["time_ns", "order"], kind="stable")
    entries["number"] = np.arange(1, len(entries) + 1)

    of_arrival, of_timer = np.full(len(hops), NEVER), np.full(0 if causes is None else len(causes), NEVER)
    for numbers, column in ((of_arrival, entries.hop), (of_timer, entries.timer)):
        numbers[column[column != NEVER]] = entries.number[column != NEVER]
    of_moment = entries[entries.order == LOCAL].set_index(MOMENT).number
    number = np.full(len(hops), NEVER)
    number[is_own] = of_moment.reindex(pd.MultiIndex.from_frame(of_sends))
    number[is_led] = of_arrival[by_arrival[is_led]]
    is_timed = by_timer != NEVER
    number[is_timed] = of_timer[by_timer[is_timed]]
    entries["cause"] = np.where(entries.hop == NEVER, NEVER, number[entries.hop] if len(hops) else NEVER)
    rows = events.assign(number=of_moment.reindex(pd.MultiIndex.from_frame(events[MOMENT])).to_numpy())
    hops = hops.assign(number=number, hop=np.arange(len(hops)))
    copies = hops.groupby(["send_ns", "sender", "medium", "kind", "message"], sort=False, dropna=False)
    hops = hops.assign(copy_of=copies.hop.transform("first"))
    return entries, *(table.sort_values("number", kind="stable") for table in (hops, rows))
