"""Check that each message of the mobile broadcast has the cause that it needs.

Checks    an application message is on its way only after its broadcast, and is named wherever it is
          hosts send their own messages, and about themselves; what is for one host is about that host
          over a tree of wires, a station passes on what has come up to it from its host, or over a wire; it sends for
          recovery what it was sent for recovery
          a station answers a host, asks and answers other stations only after what it answers has arrived there
Model     a message causes nothing before it arrives. Over VCube names are in envelopes, which the record does not open.
          It cuts long lists off: then recovery messages have any cause
Units     integer nanoseconds
Shapes    over rows
Errors    none
Source    ours: docs/protocols/mobile-causal.md, docs/run-directory.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from mobilenet.rundir.schema import MOST_LISTED
from mobilenet.rundir.table import Table
from mobilenet.verify.air.messages import FOR_ALL, Hops
from mobilenet.verify.air.nodes import Nodes, first

NEVER = 1 << 62
NAMED = ("AppHs", "AppSh", "AppOne", "AppCo", "App")
LISTED = ("undelivered", "wanted", "bodies", "new_ids")  # names in lists
CAUSES = {  # what a station sends about a host and a session <- what of them it has received before
    "Chal": ("Join",),
    "InitAck": ("Join", "Init"),
    "LeaveAck": ("Leave",),
    "Reinit": ("AckH", "Have", "Init"),
    "Reset": ("Init",),
    "Req1": ("Join", "Init", "Req1"),
    "Nothing": ("Req1", "Nothing"),
    "Objection": ("Req1", "Objection"),
    "Rsp1": ("Req1", "Rsp1"),
    "Req2": ("Rsp1", "Req2"),
    "Rsp2": ("Req2", "Rsp2"),
    "Delete": ("Leave", "Delete"),
}


def causes_problem(events: Table, hops: Hops, nodes: Nodes, is_tree: bool) -> str | None:
    """The first message that has none."""
    problems = (
        _name_problems(events, hops, nodes),
        _answer_problems(hops, nodes),
        _list_problems(events, hops),
        _number_problems(events, hops, nodes),
        _relay_problems(hops, nodes) if is_tree else (),
        _recovery_problems(hops, nodes) if is_tree else (),
        _join_problems(hops, nodes) if is_tree else (),
    )
    return next((problem for each in problems for problem in each), None)


def _broadcasts(events: Table) -> dict[str, int]:
    rows = events.column("event").rows("broadcast")
    return dict(zip(events.pick("message", rows), events.pick("time_ns", rows), strict=True))


def _name_problems(events: Table, hops: Hops, nodes: Nodes) -> Iterator[str]:
    names, kinds, hosts = (hops.table.column(name) for name in ("message", "kind", "host"))
    broadcasts = _broadcasts(events)
    since_ns = names.map([broadcasts.get(name, NEVER) for name in names.words], 0).astype(np.int64)
    if (row := first(hops.send_ns < since_ns)) is not None:
        yield f"{hops.words(row)}: {names.words[names.codes[row]]} is sent before it is broadcast"
    if (row := first(kinds.among(NAMED) & (names.codes < 0))) is not None:
        yield f"{hops.words(row)}: this application message has no name; expected a name such as 'h12:5'"
    owners = names.map([nodes.index(name.partition(":")[0]) for name in names.words], -1).astype(np.int64)
    about = nodes.indices(hosts)
    from_host, for_one = hops.sender >= nodes.stations, ~hops.is_wired & ~kinds.among(FOR_ALL)
    for wrong, what in (
        (kinds.among(("AppHs",)) & (owners != hops.sender), "a host sends only its own messages"),
        (for_one & from_host & (about != hops.sender), "a host sends information only about itself"),
        (for_one & ~from_host & (about != hops.receiver), "the message is about another host"),
    ):
        if (row := first(wrong)) is not None:
            yield f"{hops.words(row)}: the host is {hops.table['host'][row]}, but {what}"


def _answer_problems(hops: Hops, nodes: Nodes) -> Iterator[str]:
    kinds, hosts, sessions = (hops.table.column(name) for name in ("kind", "host", "session"))
    about = (hosts.codes.astype(np.int64) + 1) * (len(sessions.words) + 1) + sessions.codes + 1
    from_station, arrived = hops.sender < nodes.stations, hops.is_received
    for kind, causes in CAUSES.items():
        sent = np.flatnonzero((kinds.codes == kinds.code(kind)) & from_station)
        got = np.flatnonzero(kinds.among(causes) & arrived)
        early_ns = _earliest(
            about[got] * nodes.count + hops.receiver[got],
            hops.receive_ns[got],
            about[sent] * nodes.count + hops.sender[sent],
        )
        if (at := first(hops.send_ns[sent] < early_ns)) is not None:
            row = int(sent[at])
            host, station = hops.table["host"][row], nodes.name(int(hops.sender[row]))
            yield f"{hops.words(row)}: {kind}, but {station} had not received {' or '.join(causes)} about {host}"


def _relay_problems(hops: Hops, nodes: Nodes) -> Iterator[str]:
    names, kinds = (hops.table.column(name) for name in ("message", "kind"))
    keys = names.codes.astype(np.int64) * nodes.count
    got = np.flatnonzero(kinds.among(("AppHs", "App")) & hops.is_received)
    sent = np.flatnonzero(kinds.among(("AppSh", "AppOne", "App")))
    early_ns = _earliest(keys[got] + hops.receiver[got], hops.receive_ns[got], keys[sent] + hops.sender[sent])
    if (at := first(hops.send_ns[sent] < early_ns)) is not None:
        yield _relay_without_cause(hops, nodes, int(sent[at]))


def _lists(hops: Hops, *kinds: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """For each row of these kinds, what its lists name, and what is recovered by it."""
    details = hops.table.column("detail")
    for row in hops.table.column("kind").rows(*kinds).tolist():
        detail = json.loads(details.words[details.codes[row]]) if details.codes[row] >= 0 else {}
        lists = {name: list(map(str, each)) for name in LISTED if isinstance(each := detail.get(name), list)}
        yield row, [name for each in lists.values() for name in each], lists.get("bodies", [])


def _list_problems(events: Table, hops: Hops) -> Iterator[str]:
    broadcasts = _broadcasts(events)
    for row, names, _ in _lists(hops, "Rsp1", "Req2", "Rsp2"):
        for name in names:
            if hops.send_ns[row] < broadcasts.get(name, NEVER):
                yield f"{hops.words(row)}: {name} is in a list before it is broadcast"


def _recovery_problems(hops: Hops, nodes: Nodes) -> Iterator[str]:
    recovered: dict[tuple[int, str], int] = {}  # where, which message -> since when
    for row, _, bodies in _lists(hops, "Rsp2"):
        if len(bodies) >= MOST_LISTED:
            return
        for name in bodies if hops.is_received[row] else ():
            key = int(hops.receiver[row]), name
            recovered[key] = min(recovered.get(key, NEVER), int(hops.receive_ns[row]))
    sent = hops.table.column("kind").rows("AppCo")
    columns = (hops.sender[sent].tolist(), hops.table.pick("message", sent), hops.send_ns[sent].tolist())
    for row, station, name, sent_ns in zip(sent.tolist(), *columns, strict=True):
        if sent_ns < recovered.get((station, name), NEVER):
            yield _relay_without_cause(hops, nodes, row)


def _number_problems(events: Table, hops: Hops, nodes: Nodes) -> Iterator[str]:
    """Stations acknowledge no more than there is."""
    rows, times = events.column("event").rows("broadcast"), events.numbers("time_ns")
    senders = nodes.indices(events.column("node"))[rows]
    sent_ns = [times[rows[senders == nodes.stations + host]] for host in range(nodes.hosts)]
    details, hosts = hops.table.column("detail"), nodes.indices(hops.table.column("host"))
    for row in hops.table.column("kind").rows("AckC", "InitAck").tolist():
        seq_h = json.loads(details.words[details.codes[row]]).get("seq_h") if details.codes[row] >= 0 else {}
        seq_h = seq_h if isinstance(seq_h, dict) else {str(hosts[row] - nodes.stations): seq_h}
        for host, number in seq_h.items():
            of = nodes.index(f"h{host}") - nodes.stations
            most = np.searchsorted(sent_ns[of], hops.send_ns[row], "right") if of >= 0 else -1
            if type(number) is not int or number > most:
                yield (
                    f"{hops.words(row)}: it acknowledges {number} messages of h{host}, which had broadcast only {most}"
                )


def _join_problems(hops: Hops, nodes: Nodes) -> Iterator[str]:
    """A join is confirmed when every other station has answered that nothing of the host is left there."""
    kinds = hops.table.column("kind")
    about = [hops.table.column(name).codes for name in ("host", "session")]
    counts: dict[tuple[int, ...], list[int]] = {}
    joined = {(int(about[0][row]), int(about[1][row])) for row in kinds.rows("Join").tolist()}
    for row in kinds.rows("Nothing").tolist():
        key = int(about[0][row]), int(about[1][row]), int(hops.receiver[row])
        if hops.is_received[row]:
            counts.setdefault(key, []).append(int(hops.receive_ns[row]))
    for row in kinds.rows("InitAck").tolist():
        host, session = int(about[0][row]), int(about[1][row])
        times = counts.get((host, session, int(hops.sender[row])), [])
        if (host, session) in joined and sum(at <= hops.send_ns[row] for at in times) < nodes.stations - 1:
            yield f"{hops.words(row)}: it confirms a join before all other stations have answered"


def _earliest(keys: np.ndarray, times_ns: np.ndarray, wanted_keys: np.ndarray) -> np.ndarray:
    """When each wanted key has its first time; NEVER: it has none."""
    order = np.lexsort((times_ns, keys))
    unique, begins = np.unique(keys[order], return_index=True)
    at = np.searchsorted(unique, wanted_keys)
    has_time = np.append(unique, -1)[at] == wanted_keys
    return np.where(has_time, np.append(times_ns[order][begins], NEVER)[np.where(has_time, at, -1)], NEVER)


def _relay_without_cause(hops: Hops, nodes: Nodes, row: int) -> str:
    name, station = hops.table["message"][row], nodes.name(int(hops.sender[row]))
    return f"{hops.words(row)}: {name} is relayed, but {station} had not received it"
