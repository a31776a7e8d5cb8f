"""Tests of the network in which a test chooses every event. They cover its guarantees and the events that it allows."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mobilenet.lab.hunt.controlled import Network, Processes, network, processes
from mobilenet.protocols.declaration import declare
from mobilenet.protocols.mobile_causal import MobileCausalParameters
from mobilenet.protocols.mobile_causal.declaration import MobileCausal
from mobilenet.protocols.tcp_flooding import TcpFloodingParameters
from mobilenet.protocols.tcp_flooding.declaration import TcpFlooding

ROOT = Path(__file__).parents[4]
PARAMETERS = MobileCausalParameters()


def with_members(made: Network, hosts: int) -> Network:
    for host in range(hosts):
        made.join(host)
    made.settle()
    return made


def mobile(cells: list[int | None], parents: tuple[int, ...] = ()) -> Network:
    return with_members(Network(MobileCausal, PARAMETERS, cells, parents), len(cells))


class Silent:
    """A host or station that only records its inputs."""

    def __init__(self, port: Any, stable_or_wired: Any, *rest: Any) -> None:
        self.port, self.other, self.heard = port, stable_or_wired, []
        self.timer = port.timer(lambda: self.heard.append("timer"))

    def on_cell(self, station: int | None) -> None:
        self.heard.append(("cell", station))

    def on_recover(self) -> None:
        self.heard.append("recover")

    def on_receive(self, sender: int, message: Any) -> None:
        self.heard.append((sender, message))

    def on_wired(self, source: int, message: Any) -> None:
        self.heard.append((source, message))
        if message == "question":
            self.other.send(source, "answer")

    def on_sent(self, message: Any) -> None:
        self.heard.append(("sent", message))


def silent(cells: list[int | None], parents: tuple[int, ...] = ()) -> Network:
    return Network(declare(Silent, Silent, dict), None, cells, parents)


def receptions(made: Network, name: str) -> list[Any]:
    return [what for what in made.nodes[name].protocol.heard if what[0] not in ("cell", "sent")]


def test_doctests_of_the_controlled_network_pass() -> None:
    for module in (network, processes):
        result = doctest.testmod(module)
        assert result.attempted >= 9 and result.failed == 0


def test_a_controlled_packet_can_be_delivered_kept_or_lost() -> None:
    made = silent([0])
    made.nodes["h0"].protocol.port.send(0, "hello")
    made._take(made.nodes["h0"], made.nodes["h0"].port.effects)
    packet = made.packet("str", "h0", "s0")
    made.deliver(packet, keep=True)
    made.deliver(packet)
    assert receptions(made, "s0") == [(0, "hello"), (0, "hello")]
    with pytest.raises(ValueError, match="not in transit"):
        made.deliver(packet)
    with pytest.raises(ValueError, match="no str from any sender to s0"):
        made.packet("str", receiver="s0")


def test_controlled_links_preserve_order_and_forward_first() -> None:
    """On the path s1 - s0 - s2, s1 sends a question to s2. The answer of s2 arrives after a message that s0 forwarded
    earlier.
    """
    made = silent([], (0, 0))
    stations = made.nodes
    for name, message in (("s1", "news"), ("s1", "question")):
        stations[name].port.effects.wired.clear()
        stations[name].protocol.other.broadcast(message)
        made._take(stations[name], stations[name].port.effects)
    assert [len(queue) for queue in made.links.values()] == [0, 0, 2, 0]
    with pytest.raises(ValueError, match="from s0 to s2"):
        made.cross(0, 2)
    made.cross(1, 0)
    made.cross(1, 0)
    assert [wired.message for wired in made.links[0, 2]] == ["news", "question"]
    assert [wired.message for wired in made.links[0, 1]] == ["answer"]
    made.cross(0, 2)
    made.cross(0, 2)
    made.cross(2, 0)
    assert [wired.message for wired in made.links[0, 1]] == ["answer", "answer"]
    made.flush()
    assert receptions(made, "s2") == [(1, "news"), (1, "question")]
    assert receptions(made, "s1") == [(0, "answer"), (2, "answer")]


def test_a_crash_clears_timers_and_all_but_the_stable_store() -> None:
    made = silent([1], (0,))
    host = made.nodes["h0"]
    stable = host.stable
    host.protocol.timer.start(7)
    assert [(name, timer.deadline_ns) for name, timer in made.timers()] == [("h0", 7)]
    made.crash(0)
    assert made.timers() == [] and host.protocol is None
    made.move(0, 0)  # The host was carried to another cell.
    made.recover(0)
    assert host.protocol.heard == [("cell", 0), "recover"] and host.protocol.other is stable
    with pytest.raises(ValueError, match="not running"):
        made.fire("h0", 0)


def test_firing_a_timer_advances_the_clock_to_its_deadline() -> None:
    made = silent([0])
    host = made.nodes["h0"]
    host.protocol.timer.start(50)
    made.fire("h0", 0)
    assert made.clock.now == 50 and host.protocol.heard[-1] == "timer" and not host.running_timers


def test_members_deliver_all_broadcasts_while_they_move() -> None:
    made = mobile([0, 1, 2], (0, 1))
    made.broadcast(0)
    made.move(0, 2)
    made.broadcast(1)
    made.settle()
    for host in range(3):
        assert sorted(made.deliveries(host)) == [(0, 0), (1, 0)]


def test_a_late_packet_from_the_previous_cell_is_not_delivered() -> None:
    made = mobile([0, 0], (0,))
    made.broadcast(1)
    made.deliver(made.packet("AppHs"))
    late = made.packet("AppSh", receiver="h0")
    made.move(0, 1)
    made.deliver(late)
    assert made.deliveries(0) == []
    made.settle()
    assert made.deliveries(0) == [(1, 0)]


def test_the_program_of_the_guide_runs(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guide" / "plug-ins.md").read_text(encoding="utf-8")
    program = next(code for code in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if "Processes" in code)
    for old, new in (("", ""), ("== [rumour]", "== []")):
        paths = os.pathsep.join(map(str, (ROOT / "scenarios" / "own_protocol", ROOT)))
        done = subprocess.run(
            [sys.executable, "-c", program.replace(old, new)], env=os.environ | {"PYTHONPATH": paths}, cwd=tmp_path
        )
        assert (done.returncode == 0) == (old == new)


# --- connections


def over_tcp(cells: list[int | None], parents: tuple[int, ...] = ()) -> Network:
    return with_members(Network(TcpFlooding, TcpFloodingParameters(), cells, parents), len(cells))


def test_tcp_flooding_runs_on_the_controlled_network() -> None:
    made = over_tcp([0, 1], (0,))
    message = made.broadcast(0)
    assert made.deliveries(1) == []
    for a, b in (("h0", "s0"), ("s0", "s1")):
        assert len(made.connections.pass_on(a, b)) == 1
    assert made.deliveries(1) == []
    made.settle()
    assert made.deliveries(0) == made.deliveries(1) == [message]


def test_a_reopened_channel_loses_its_pending_messages() -> None:
    made = over_tcp([0, 0])
    made.broadcast(0)
    made.connections.pass_on("h0", "s0")
    assert len(made.connections.links["s0", "h1"][0].sent) > 0
    made.connections.break_off("s0", "h1")
    made.connections.break_off("h1", "s0")
    made.settle()
    assert made.deliveries(0) == [(0, 0)] and "gap" in [event.name for event in made.events if event.node == "h1"]
    made.broadcast(0)
    made.settle()
    assert (0, 1) in made.deliveries(1)


def test_a_crash_drops_channels_without_notifying_the_peer() -> None:
    made = over_tcp([0, 0])
    end = made.connections.links["s0", "h1"][0]
    made.crash(1)
    assert made.connections.links["h1", "s0"][0].closed and not end.closed
    made.broadcast(0)
    made.flush()
    assert made.deliveries(1) == []
    made.recover(1)
    made.settle()
    made.broadcast(0)
    made.settle()
    assert (0, 1) in made.deliveries(1) and end.closed


def test_a_channel_requested_before_a_crash_does_not_open() -> None:
    made = Network(TcpFlooding, TcpFloodingParameters(), [0])
    made.join(0)
    ((here, far),) = made.connections.opening
    made.crash(0)
    made.connections.open()
    assert here.closed and far.closed and not made.connections.is_under_way
    made.recover(0)
    made.settle()
    assert made.nodes["s0"].protocol.serves(0)


# --- processes


class Echo:
    """A process that records its inputs and greets the next process after some time."""

    BUFFERS = ("none",)

    def __init__(self, port: Any, n: int) -> None:
        self.port, self.heard = port, []
        self.timer = port.timer(lambda: port.send((port.me + 1) % n, "late"))
        self.timer.start(5)

    def buffer_sizes(self) -> tuple[int, ...]:
        return (0,)

    def on_receive(self, sender: int, message: Any) -> None:
        self.heard.append((sender, message))

    def on_crash(self, process: int) -> None:
        self.heard.append(("crash", process))

    def on_up(self, process: int) -> None:
        self.heard.append(("up", process))


def test_packets_between_correct_processes_cannot_be_lost() -> None:
    made = Processes(Echo, 3)  # type: ignore[arg-type]
    assert [(i, timer.deadline_ns) for i, timer in made.timers()] == [(0, 5), (1, 5), (2, 5)]
    made.fire(0, 0)
    made.fire(1, 0)
    assert made.clock.now == 5
    to_p1, to_p2 = made.packets("str")
    with pytest.raises(ValueError, match="neither p0 nor p1 has crashed"):
        made.lose(to_p1)
    made.suspect(2, 0)
    made.trust(2, 0)
    made.crash(1)
    assert [i for i, _ in made.timers()] == [2]
    made.lose(to_p2)  # The sender has crashed.
    made.deliver(to_p1)  # The receiver has crashed.
    with pytest.raises(ValueError, match="not in transit"):
        made.deliver(to_p1)
    with pytest.raises(ValueError, match="p1 has crashed"):
        made.suspect(1, 0)
    with pytest.raises(ValueError, match="not running"):
        made.fire(0, 0)
    assert [getattr(process, "heard", None) for process in made.protocols] == [[], None, [("crash", 0), ("up", 0)]]
