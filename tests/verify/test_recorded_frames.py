"""Frames, links and messages: sound runs pass in every world, and what an insider edits in them is caught.

Model     each edit is made in a run that was really recorded; what would be noticed before (counters, running totals,
          checksums) is renewed along with it. `caught by`: the property that has to be violated
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

import json
from collections import Counter
from math import dist
from pathlib import Path
from typing import Any

import pytest

import mobilenet
from mobilenet.judgement import verdicts_of
from mobilenet.verify import verify_run
from tests.conftest import SCENARIOS

from .damage import Copy, Edits, Runs, Table, verdicts_after
from .on_air_worlds import MOVING, WORLDS, accusations, as_text, draw, record
from .test_insider import tracks_in

DRAWN = 30
RUNS = WORLDS


@pytest.mark.parametrize("seed", range(DRAWN))
def test_drawn_runs_are_not_accused(seed: int, tmp_path: Path) -> None:
    record(draw(seed), tmp_path / "run")
    verdicts = verify_run(tmp_path / "run")
    assert not accusations(verdicts)
    assert verdicts == verdicts_of(tmp_path / "run")  # of the columns in memory


RECORDED = ["record.frames=true", "record.messages=true"]
SHIPPED = {
    "own_protocol/gossip.yaml": ["duration_s=6", "hosts.count=8"],
    "own_protocol/courier.yaml": ["duration_s=6"],
    "programs/flood.yaml": ["duration_s=4"],
    "town.yaml": ["duration_s=6", "warmup_s=1"],
    "streets.yaml": ["duration_s=6", "warmup_s=1"],
    "holes.yaml": ["duration_s=6", "warmup_s=1"],
    "paper/dynamic.yaml": ["duration_s=3", "warmup_s=1"],
    "cut_and_off.yaml": [],
    "by_hand.yaml": [],
}


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_runs_are_not_accused(name: str, tmp_path: Path) -> None:
    overrides = [*SHIPPED[name], *RECORDED]
    mobilenet.run(SCENARIOS / name, out=tmp_path / "run", overrides=overrides, allow_code=True)
    assert not accusations(verify_run(tmp_path / "run"))


def test_tracks_are_not_accused(tmp_path: Path) -> None:
    mobilenet.run(tracks_in(tmp_path), out=tmp_path / "run", overrides=RECORDED)
    assert not accusations(verify_run(tmp_path / "run"))


# --- edits

edit = Edits()


@pytest.mark.parametrize(("how", "name"), edit.all)
def test_an_edit_is_caught(how: str, name: str, runs: Runs, tmp_path: Path) -> None:
    edit.require_caught(how, name, runs, tmp_path)


def renew(copy: Copy) -> None:
    """Counters and running totals of pairs as the rows of frames have them."""
    frames, radio = copy.frames, copy.counters["radio"]
    rows: dict[bool, list[Any]] = {False: [], True: []}  # those of ACKs
    for end_ns, fate, addressed, kind in frames.each("end_ns", "fate", "addressed", "kind"):
        rows[kind == "mac_ack"].append((end_ns, fate, addressed))
    of_acks = [(radio["acks"], rows[True])] if "acks" in radio else []
    for of_all, own in ((radio, rows[False]), *of_acks):
        for counters, chosen in ((of_all, own), (of_all["addressed"], [row for row in own if row[2]])):
            fates = Counter(fate for _, fate, _ in chosen)
            counters["pairs_in_range"], counters["received"] = len(chosen), fates["received"]
            counters["lost"] = {name: fates[name] for name in counters["lost"]}
    for row, quantity in enumerate(copy.samples.quantity):
        prefix, _, fate = quantity.rpartition("pairs_")
        if prefix in ("", "addressed_", "ack_", "addressed_ack_") and quantity != fate:
            until_ns, is_addressed = copy.samples.time_ns[row], prefix.startswith("addressed")
            own = rows[prefix.endswith("ack_")]
            ended = [one for one in own if one[0] < until_ns and one[1] == fate and (one[2] or not is_addressed)]
            copy.samples.value[row] = float(len(ended))


def refate(copy: Copy, row: int, fate: str) -> None:
    """Another fate of one pair, in all tables."""
    frames = copy.frames
    frames.fate[row] = fate
    if "messages" in copy.optional:
        send_ns, sender, receiver = frames.at(row, "start_ns", "sender", "receiver")
        receive_ns = frames.end_ns[row] if fate == "received" else None
        for other in copy.messages.where(medium="radio", send_ns=send_ns, sender=sender, receiver=receiver):
            copy.messages.change(other, fate=fate, receive_ns=receive_ns)


def with_fate(copy: Copy, *fates: str) -> list[int]:
    return [row for row, fate in enumerate(copy.frames.fate) if fate in fates]


def overlaps(copy: Copy, row: int, other: int) -> bool:
    frames = copy.frames
    return bool(
        frames.start_ns[row] < frames.end_ns[other] + 50_000 and frames.start_ns[other] < frames.end_ns[row] + 50_000
    )


def lonely(copy: Copy) -> int:
    """A frame that was received early in the run while nothing else was in the air."""
    frames = copy.frames
    return next(
        row
        for row in with_fate(copy, "received")
        if all(frames.start_ns[other] == frames.start_ns[row] or not overlaps(copy, row, other)
               for other in range(max(0, row - 60), row + 60))
        and row > 100
    )  # fmt: skip


def frames_and_links(copy: Copy) -> list[Table]:
    """The tables that have a row for each pair of a frame."""
    return [table for name, table in copy.optional.items() if name in ("frames", "links")]


def of_one_frame(copy: Copy, row: int) -> list[int]:
    """All rows of the frame of this row."""
    return copy.frames.where(start_ns=copy.frames.start_ns[row], sender=copy.frames.sender[row])


def second_of_two_pairs(table: Table) -> int:
    """An early row that is of the same frame as the one before it."""
    return next(row for row in range(1, 500) if table.start_ns[row] == table.start_ns[row - 1])


def move(copy: Copy, row: int, start_ns: int) -> None:
    """The frame of this row begins then, in all of its rows, which take their place."""
    frames = copy.frames
    lasts_ns = frames.end_ns[row] - frames.start_ns[row]
    for other in of_one_frame(copy, row):
        frames.end_ns[other] = start_ns + lasts_ns
        for table in frames_and_links(copy):
            table.start_ns[other] = start_ns
    order = sorted(range(len(frames.end_ns)), key=frames.end_ns.__getitem__)
    for table in frames_and_links(copy):
        for name, column in table.items():
            table[name] = [column[other] for other in order]


RADIOS = "disk power full_duplex tcp"


@edit("record", RADIOS)
def a_sender_of_another_run(copy: Copy) -> None:
    copy.frames.sender[10] = "s99"


@edit("record", "disk power full_duplex")
@edit("conservation", "tcp")
def every_fate_is_collision(copy: Copy) -> None:
    for row in with_fate(copy, "received"):
        refate(copy, row, "collision")
    renew(copy)


@edit("conservation", "disk power")
def every_fate_is_collision_and_the_counters_stay(copy: Copy) -> None:
    copy.frames.fate = ["collision"] * len(copy.frames.fate)


@edit("record", "disk town")
def nothing_arrived(copy: Copy) -> None:
    for row in with_fate(copy, "received"):
        refate(copy, row, "random")
    renew(copy)


@edit("record", "power town")
def thirty_dbm_more(copy: Copy) -> None:
    links = copy.links
    links.power_dbm = [power + 30 for power in links.power_dbm]


@edit("record", RADIOS)
def a_frame_that_lasts_longer(copy: Copy) -> None:
    for row in of_one_frame(copy, 20):
        copy.frames.end_ns[row] += 1


@edit("record", "disk")
def one_row_of_a_frame_ends_later(copy: Copy) -> None:
    copy.frames.end_ns[second_of_two_pairs(copy.frames)] += 1


@edit("record", "disk")
def a_frame_to_itself(copy: Copy) -> None:
    copy.frames.receiver[10] = copy.frames.sender[10]


@edit("record", "disk")
def a_frame_twice_at_a_receiver(copy: Copy) -> None:
    row = second_of_two_pairs(copy.frames)
    copy.frames.receiver[row] = copy.frames.receiver[row - 1]


@edit("record", "disk")
def another_radios_fate(copy: Copy) -> None:
    refate(copy, with_fate(copy, "random")[0], "bit_errors")


@edit("record", "full_duplex")
def half_duplex_of_a_full_duplex_radio(copy: Copy) -> None:
    refate(copy, with_fate(copy, "received")[0], "half_duplex")
    renew(copy)


@edit("record", "disk full_duplex")
def two_frames_of_a_sender_at_a_time(copy: Copy) -> None:
    frames = copy.frames
    first, sender = frames.start_ns[200], frames.sender[200]
    later = next(row for row, start in enumerate(frames.start_ns) if frames.sender[row] == sender and start > first)
    move(copy, later, first + 1000)


@edit("record", "disk")
def a_row_out_of_its_order(copy: Copy) -> None:
    for column in copy.frames.values():
        column.append(column.pop(50))


@edit("conservation", "tcp")
def frames_moved_in_time(copy: Copy) -> None:
    """Move frames a second later, except those near the end, where there is no room."""
    end_ns = max(copy.frames.end_ns)
    last = next(row for row, end in enumerate(copy.frames.end_ns) if end > end_ns - 2_000_000_000)
    for name in ("start_ns", "end_ns"):
        copy.frames[name][:last] = [time + 1_000_000_000 for time in copy.frames[name][:last]]
    copy.frames.sort("end_ns")


@edit("conservation", "disk")
def a_frame_removed(copy: Copy) -> None:
    copy.frames.remove(of_one_frame(copy, 20))


@edit("record", "disk power")
def a_near_receiver_removed(copy: Copy) -> None:
    frames = copy.frames
    places = {(node, time): (x, y) for time, node, x, y in copy.positions.each("time_ns", "node", "x_m", "y_m")}

    def apart_m(row: int) -> float:
        when = frames.start_ns[row] // 1_000_000_000 * 1_000_000_000
        both = frames.sender[row], frames.receiver[row]
        a, b = (places.get((node, when)) or places[node, 0] for node in both)
        return dist(a, b)

    rows = [row for row in range(1, len(frames.fate)) if frames.start_ns[row] == frames.start_ns[row - 1]]
    row = next(row for row in rows if apart_m(row) < 12 and frames.sender[row] == frames.sender[row - 1])
    for table in frames_and_links(copy):
        table.remove([row])
    renew(copy)


@edit("record", "disk power")
def a_far_receiver(copy: Copy) -> None:
    """A frame between the two stations, which are 130 m apart."""
    row = next(row for row in with_fate(copy, "received") if copy.frames.sender[row] == "s0")
    while copy.frames.start_ns[row - 1] == copy.frames.start_ns[row]:
        row -= 1
    for table in frames_and_links(copy):
        table.insert(row, **table.row(row) | {"receiver": "s1"})
    copy.frames.addressed[row] = False
    renew(copy)


@edit("record", "disk power town")
def received_by_a_host_that_is_down(copy: Copy) -> None:
    refate(copy, with_fate(copy, "receiver_down")[3], "received")
    renew(copy)


@edit("record", "disk power")
def down_for_no_reason(copy: Copy) -> None:
    refate(copy, with_fate(copy, "received")[3], "receiver_down")
    renew(copy)


@edit("record", "disk power")
def a_host_that_is_down_sends(copy: Copy) -> None:
    crash, recover = copy.first("crash", "h1"), copy.first("recover", "h1")
    middle_ns = (copy.events.time_ns[crash] + copy.events.time_ns[recover]) // 2
    last = max(row for row, sender in enumerate(copy.frames.sender)
               if sender == "h1" and copy.frames.end_ns[row] < copy.events.time_ns[crash])  # fmt: skip
    move(copy, last, middle_ns)
    renew(copy)


@edit("record", "no_loss")
def lost_at_random_where_nothing_is(copy: Copy) -> None:
    refate(copy, with_fate(copy, "received")[3], "random")
    renew(copy)


@edit("record", "disk power")
def half_duplex_while_it_sends_nothing(copy: Copy) -> None:
    refate(copy, lonely(copy), "half_duplex")
    renew(copy)


@edit("record", "disk power")
def received_while_it_sends(copy: Copy) -> None:
    refate(copy, with_fate(copy, "half_duplex")[0], "received")
    renew(copy)


@edit("record", "disk full_duplex")
def received_although_another_one_arrives(copy: Copy) -> None:
    refate(copy, with_fate(copy, "collision")[0], "received")
    renew(copy)


@edit("record", "disk power")
def never_attempted_while_nothing_else_arrives(copy: Copy) -> None:
    refate(copy, lonely(copy), "never_attempted")
    renew(copy)


@edit("record", "disk full_duplex")
def a_collision_with_nothing(copy: Copy) -> None:
    refate(copy, lonely(copy), "collision")
    renew(copy)


@edit("conservation", "disk power")
def totals_of_another_second(copy: Copy) -> None:
    """Give the earlier of two samples of one total the value of the later one."""
    rows = [row for row, quantity in enumerate(copy.samples.quantity) if quantity == "pairs_received"]
    copy.samples.value[rows[4]] = copy.samples.value[rows[5]]


# --- links


@edit("record", "power town")
def an_sinr_above_the_noise(copy: Copy) -> None:
    links = copy.links
    row = next(row for row, sinr in enumerate(links.sinr_db) if sinr == sinr)
    links.sinr_db[row] = links.power_dbm[row] + 120


@edit("record", "power town")
def an_sinr_as_if_something_disturbed_it(copy: Copy) -> None:
    for row, end_ns in enumerate(copy.frames.end_ns):
        if row > 100 and end_ns < 11e9:
            copy.links.sinr_db[row] -= 3


@edit("record", "power town")
def no_sinr_of_what_was_received(copy: Copy) -> None:
    copy.links.sinr_db[with_fate(copy, "received")[5]] = float("nan")


@edit("record", "power town")
def an_sinr_of_what_was_not_received(copy: Copy) -> None:
    copy.links.sinr_db[with_fate(copy, "receiver_down")[0]] = 10.0


@edit("record", "power town")
def too_weak_to_be_detected(copy: Copy) -> None:
    copy.links.power_dbm[5] = -100.0


@edit("record", "power")
def weaker_than_its_distance(copy: Copy) -> None:
    links = copy.links
    row = max(range(len(links.power_dbm)), key=lambda row: links.power_dbm[row])
    links.power_dbm[row] = -80.0
    links.sinr_db[row] = 5.0


@edit("record", "power")
def links_of_other_pairs(copy: Copy) -> None:
    row, receivers = second_of_two_pairs(copy.links), copy.links.receiver
    receivers[row], receivers[row - 1] = receivers[row - 1], receivers[row]


def weaken(copy: Copy, rows: list[int]) -> None:
    for row in rows:
        for name in ("power_dbm", "sinr_db"):
            copy.links[name][row] = round(copy.links[name][row] - 0.5, 2)


def between(copy: Copy, sender: str, receiver: str) -> list[int]:
    """All rows of the two that hear each other most often, in that direction; `h` or `s`: which kind of node."""
    ends = Counter(ends for ends in copy.links.each("sender", "receiver") if "h3" not in ends)
    one, other = next(ends for ends, _ in ends.most_common() if (ends[0][0], ends[1][0]) == (sender, receiver))
    return copy.links.where(sender=one, receiver=other)


@edit("record", "standing")
def a_power_that_changes_between_hosts_that_stand_still(copy: Copy) -> None:
    weaken(copy, between(copy, "h", "h")[5:])


@edit("record", "standing")
def a_power_that_differs_between_both_directions(copy: Copy) -> None:
    weaken(copy, between(copy, "s", "h"))


@edit("record", "standing")
def a_power_that_changes_after_a_drag(copy: Copy) -> None:
    links = copy.links
    weaken(copy, [row for row in links.where(sender="s1", receiver="h3") if links.start_ns[row] > 3_000_000_000])


@edit("record", "power")
def bit_errors_of_a_strong_frame(copy: Copy) -> None:
    links = copy.links
    row = max(with_fate(copy, "received"), key=lambda row: links.power_dbm[row])
    refate(copy, row, "bit_errors")
    renew(copy)


# --- messages


def wired_rows(copy: Copy) -> list[int]:
    return copy.messages.where(medium="wired")


@edit("record", "only_messages disk")
def a_message_of_a_stranger(copy: Copy) -> None:
    copy.messages.sender[10] = "h99"


@edit("record", "disk")
def a_message_that_is_no_frame(copy: Copy) -> None:
    copy.messages.send_ns[copy.messages.where(medium="radio")[0]] += 1


@edit("record", "disk")
def a_message_of_another_kind_than_its_frame(copy: Copy) -> None:
    sent = copy.messages.send_ns
    row = next(row for row in copy.messages.where(kind="AppSh") if row and sent[row] == sent[row - 1])
    copy.messages.kind[row] = "AppCo"


@edit("record", "only_messages disk")
def a_message_that_arrives_at_once(copy: Copy) -> None:
    row = copy.messages.where(medium="radio", fate="received")[0]
    copy.messages.receive_ns[row] = copy.messages.send_ns[row] + 1000


@edit("record", "only_messages cut")
def no_time_of_arrival(copy: Copy) -> None:
    copy.messages.receive_ns[copy.messages.where(fate="received")[0]] = None


@edit("record", "cut")
def a_mended_wire_is_slow(copy: Copy) -> None:
    row = wired_rows(copy)[-1]
    assert copy.messages.send_ns[row] > 4 * 10**9
    copy.messages.receive_ns[row] += 100_000


@edit("record", "only_messages tcp cut")
def a_wire_that_is_too_fast(copy: Copy) -> None:
    row = next(row for row in wired_rows(copy)[10:] if copy.messages.fate[row] == "received")
    copy.messages.receive_ns[row] -= 1_000_000


@edit("record", "only_messages disk tcp")
def a_wire_that_is_slow(copy: Copy) -> None:
    copy.messages.receive_ns[wired_rows(copy)[10]] += 1


@edit("record", "only_messages")
def a_message_lost_on_a_whole_wire(copy: Copy) -> None:
    copy.messages.change(wired_rows(copy)[10], fate="link_cut", receive_ns=None)


@edit("record", "only_messages")
def a_host_with_a_wire(copy: Copy) -> None:
    copy.messages.sender[wired_rows(copy)[0]] = "h0"


@edit("conservation", "only_messages disk")
def a_message_on_a_wire_removed(copy: Copy) -> None:
    copy.messages.remove(wired_rows(copy)[-1:])


@edit("conservation", "only_messages")
def messages_that_were_never_sent(copy: Copy) -> None:
    """As long as those that they are in the place of."""
    messages, detail = copy.messages, json.dumps({"seq_h": {str(host): 0 for host in range(10)}})
    for row, (kind, size) in enumerate(messages.each("kind", "size_bytes")):
        if kind == "AppSh" and size == 4 + 10 * (4 + 8):
            messages.change(row, kind="AckC", detail=detail, message=None)


@edit("record", "only_messages disk")
def a_message_with_another_name(copy: Copy) -> None:
    """What a host delivers never reached it."""
    delivered = [copy.events.message[row] for row in copy.rows("deliver", "h0")]
    name = next(message for message in delivered if not message.startswith("h0:"))
    for row in copy.messages.where(receiver="h0", message=name):
        copy.messages.message[row] = "h0:0"


# --- events


@edit("record", "disk only_messages town")
def a_delivery_while_nothing_arrives(copy: Copy) -> None:
    times = copy.events.time_ns
    row = next(row for row in copy.rows("deliver")[40:] if times[row] - times[row - 1] > 2_000_000)
    copy.events.time_ns[row] -= 1_000_000


@edit("record", "frames_alone")
def nobody_is_addressed(copy: Copy) -> None:
    copy.frames.addressed = [False] * len(copy.frames.addressed)
    renew(copy)


@edit("record", "frames_alone")
def no_station_is_addressed(copy: Copy) -> None:
    pairs = copy.frames.each("addressed", "receiver")
    copy.frames.addressed = [is_told and node[0] == "h" for is_told, node in pairs]
    renew(copy)


@edit("record", "town")
def a_station_that_a_message_is_for_is_not_addressed(copy: Copy) -> None:
    row = next(row for row in with_fate(copy, "random") if copy.frames.addressed[row])
    while copy.frames.receiver[row][0] == "h" or copy.frames.fate[row] != "random":
        row += 1
    copy.frames.addressed[row] = False
    renew(copy)


@edit("record", "frames_alone")
def a_host_hands_over_to_a_station_that_does_not_hear_it(copy: Copy) -> None:
    """Its one frame arrives before the handoff begins."""
    row = copy.first("handoff_end")
    host, end_ns = copy.events.node[row], copy.events.time_ns[row]
    begin_ns = [copy.events.time_ns[each] for each in copy.rows("handoff_start", host) if each < row][-1]
    for each, (sender, at_ns) in enumerate(copy.frames.each("sender", "end_ns")):
        if sender == host and begin_ns <= at_ns <= end_ns:
            copy.frames.addressed[each] = False
    renew(copy)


def expire_after(copy: Copy, add_s: float) -> None:
    copy.events.add(copy.first("expire"), silent_s=add_s)


@edit("gaps", "disk power town only_messages")
def a_longer_silence(copy: Copy) -> None:
    expire_after(copy, 0.25)


# --- tables


@edit("record", "disk only_messages")
def messages_are_missing(copy: Copy) -> None:
    del copy.optional["messages"]
    del copy.counters["rows"]["messages"]
    (copy.path / "messages.parquet").unlink()


@edit("record", "only_messages")
def frames_that_nobody_recorded(copy: Copy) -> None:
    columns = ("start_ns", "end_ns", "sender", "receiver", "kind", "psdu_bytes", "addressed", "fate")
    copy.optional["frames"] = Table({name: [] for name in columns})


# --- plug-ins

CHATTER = '''"""Hosts report by acknowledged unicast or without, and stations give up those that are silent."""

from dataclasses import dataclass

from mobilenet.protocols.base import BaseHost, BaseMessage, BaseStation
from mobilenet.protocols.port import MessageId


@dataclass(frozen=True)
class Report(BaseMessage):
    id: MessageId
    payload_bytes: int = 0


@dataclass(frozen=True)
class Rumour(BaseMessage):
    id: MessageId
    payload_bytes: int = 0


class Host(BaseHost):
    def spread(self, message, body):
        self.port.deliver(message, body)
        if self.cell is not None:
            self.port.unicast(self.cell, Report(message, body))
            self.port.send(self.cell, Report(message, body))
            self.port.broadcast(Rumour(message, body))

    def on_receive(self, sender, message):
        pass


class Station(BaseStation):
    def __init__(self, *parts):
        super().__init__(*parts)
        self.hosts = set()

    def on_receive(self, host, message):
        if not self.hosts:
            self.port.timer(self.look).start(500_000_000)
        self.hosts.add(host)
        if type(message) is Report:
            self.port.unicast(host, Rumour(message.id, message.payload_bytes))
            self.port.broadcast(Rumour(message.id, message.payload_bytes))

    def look(self):
        for host in sorted(self.hosts):
            self.port.expired(host)
        self.hosts.clear()

    def on_wired(self, source, message):
        pass


class Chatter:
    host, station = Host, Station
    promises = "best_effort"

    @staticmethod
    def expiry_s(p):
        return 0.5
'''


@pytest.fixture(scope="module")
def chatter(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """A run on each of several radios."""
    place = tmp_path_factory.mktemp("chatter")
    (place / "chatter.py").write_text(CHATTER)
    radios: dict[str, dict[str, Any]] = {
        "disk": {"range_m": 90, "loss": 0.1, "interference_range_m": 160},
        "power": {"model": "sinr", "tx_dbm": 10, "fading": {}},
        "acking": {"mac": "acking", "range_m": 90, "full_duplex": False, "bitrate_mbps": 1, "loss": 0.1},
    }
    for name, wireless in radios.items():
        values = MOVING | {"wireless": wireless, "protocol": {"class": "chatter.py:Chatter", "promises": "best_effort"}}
        (place / f"{name}.yaml").write_text(as_text(values))
        mobilenet.run(place / f"{name}.yaml", out=place / name, allow_code=True)
    return {name: place / name for name in radios}


def test_plug_ins_that_send_in_every_way_are_not_accused(chatter: Runs) -> None:
    for name, path in chatter.items():
        copy = json.loads((path / "counters.json").read_text())
        assert copy["rows"]["events"]["expire"] > 20 and copy["radio"]["frames"] > 200
        assert (copy["radio"]["mac_acks"] > 50) == (name != "acking")
        assert not accusations(verify_run(path)), name


@pytest.mark.parametrize("name", ["disk", "power", "acking"])
def test_a_silence_that_a_plug_in_did_not_have(name: str, chatter: Runs, tmp_path: Path) -> None:
    explanations = accusations(
        verdicts_after(chatter[name], tmp_path / "edited", lambda copy: expire_after(copy, 0.25))
    )
    assert "record" in explanations


# --- running totals


def add(copy: Copy, at_s: int, **changes: int) -> None:
    """To the totals at that second."""
    samples = copy.samples
    for row, quantity in enumerate(samples.quantity):
        if quantity in changes and samples.time_ns[row] == at_s * 10**9:
            samples.value[row] += changes[quantity]


def of_the_end(copy: Copy, since_s: int, *quantities: str) -> None:
    """Totals have their last values from that second on."""
    samples = copy.samples
    last = dict(samples.each("quantity", "value"))
    for row, quantity in enumerate(samples.quantity):
        if quantity in quantities and samples.time_ns[row] >= since_s * 10**9:
            samples.value[row] = last[quantity]


@edit("conservation", "only_messages disk cut tcp")
def wires_that_carry_everything_early(copy: Copy) -> None:
    of_the_end(copy, 10, "wired_messages", "wired_bytes")


@edit("conservation", "disk power full_duplex tcp frames_alone")
def more_bytes_at_one_moment(copy: Copy) -> None:
    add(copy, 7, radio_bytes=300, radio_control_bytes=300)


@edit("conservation", "disk power full_duplex tcp frames_alone")
def fewer_bytes_at_one_moment(copy: Copy) -> None:
    add(copy, 7, radio_bytes=-300, radio_control_bytes=-300)


@edit("conservation", "disk tcp only_messages")
def payload_that_is_control_at_one_moment(copy: Copy) -> None:
    add(copy, 7, radio_payload_bytes=-100, radio_control_bytes=100)


@edit("conservation", "disk tcp only_messages")
def an_acknowledgement_less_at_one_moment(copy: Copy) -> None:
    add(copy, 7, radio_acknowledgements=-1)


@edit("conservation", "tcp")
def retries_that_were_early(copy: Copy) -> None:
    of_the_end(copy, 4, "radio_mac_retries")


# --- on which frame a receiver is locked


@edit("record", "disk no_loss tcp frames_alone")
def locked_on_the_second_of_two(copy: Copy) -> None:
    frames = copy.frames
    for second in with_fate(copy, "never_attempted"):
        same = [row for row in range(max(0, second - 60), second + 60) if row < len(frames.fate) and row != second
                and frames.receiver[row] == frames.receiver[second] and overlaps(copy, row, second)]  # fmt: skip
        began_ns = [frames.start_ns[row] for row in same if frames.fate[row] == "collision"]
        if len(same) == len(began_ns) == 1 and began_ns[0] + 10_000 < frames.start_ns[second]:
            refate(copy, same[0], "never_attempted")
            refate(copy, second, "collision")
            return renew(copy)
    raise AssertionError


@edit("record", "disk no_loss frames_alone")
def locked_on_two_frames_at_once(copy: Copy) -> None:
    for row in with_fate(copy, "never_attempted"):
        refate(copy, row, "collision")
    renew(copy)


@edit("record", "disk no_loss tcp frames_alone")
def locked_on_none_of_two(copy: Copy) -> None:
    for row in with_fate(copy, "collision"):
        refate(copy, row, "never_attempted")
    renew(copy)


# --- interference


def overlapping_frames(copy: Copy, *fates: str) -> list[int]:
    """Frames with an SINR at a station that overlap for a long time with another frame there."""
    frames, sinr = copy.frames, copy.links.sinr_db
    rows = [row for row in with_fate(copy, *fates) if frames.receiver[row][0] == "s" and sinr[row] == sinr[row]]
    return [row for row in rows if any(
        frames.receiver[other] == frames.receiver[row] and other != row
        and frames.start_ns[other] + 250_000 < frames.end_ns[row]
        and frames.start_ns[row] + 250_000 < frames.end_ns[other]
        for other in range(max(0, row - 60), min(row + 60, len(sinr)))
    )]  # fmt: skip


def silence_db(copy: Copy) -> float:
    """From a power to its SINR in silence."""
    links = copy.links
    return float(max(sinr - power for sinr, power in links.each("sinr_db", "power_dbm")
                     if sinr == sinr))  # fmt: skip


@edit("record", "crowd")
def an_sinr_of_silence_beside_another_frame(copy: Copy) -> None:
    links = copy.links
    row = overlapping_frames(copy, "collision", "received")[-1]
    links.sinr_db[row] = links.power_dbm[row] + silence_db(copy)


@edit("record", "crowd town")
def broken_by_interference_in_silence(copy: Copy) -> None:
    links = copy.links
    row = next(row for row in with_fate(copy, "collision") if links.sinr_db[row] == links.sinr_db[row])
    links.sinr_db[row] = links.power_dbm[row] + silence_db(copy)


@edit("record", "crowd")
def an_sinr_far_below_all_interference(copy: Copy) -> None:
    copy.links.sinr_db[overlapping_frames(copy, "collision", "received")[0]] = -40.0
