"""Tests of the server of a live run with well-behaved and hostile clients."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import mobilenet
from mobilenet.lab.live import server as server_module
from mobilenet.lab.live import stream
from mobilenet.lab.live.desk import Desk
from mobilenet.lab.live.jobs import BEHIND
from mobilenet.lab.live.server import Page
from mobilenet.lab.live.server import Server as Sockets
from mobilenet.lab.live.stream import Listener, Place
from tests.conftest import FIRST, SCENARIOS
from tests.lab.live.conftest import PATIENCE_S, Server, Talk, serving


def refusal(url: str, **headers: str) -> tuple[int, str]:
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(urllib.request.Request(url, headers=headers))
    return error.value.code, error.value.read().decode()


@pytest.mark.long
def test_a_scripted_live_session_is_saved_and_can_be_repeated(served: Server, tmp_path: Path) -> None:
    with Talk(served) as talk:
        assert talk.since() == {"type": "reply", "id": 1, "generation": 0}
        assert talk.play_to(10)["time_ns"] == 10**10
        done = talk.do("crash", host="h3")["intervention"]
        assert done == {"do": "crash", "host": "h3", "at_s": 10.0}
        talk.ask("step", what="handoff")
        stepped = talk.until_state(lambda one: "stepped" in one)["stepped"]
        assert (stepped["number"], stepped["what"]) == (1, "handoff")
        assert stepped["event"]["event"] in ("handoff_start", "handoff_end")
        assert "job" in talk.ask("save", name="mine")
        job = talk.job()
    assert job["state"] == "done", job["text"]
    assert job["text"].startswith("saved in runs/mine: valid, fingerprint ")
    kept = mobilenet.load(tmp_path / "runs" / "mine")
    assert [one["do"] for one in _interventions(kept)] == ["crash"]
    again = mobilenet.run(kept.path / "scenario.yaml", out=tmp_path / "again")
    assert again.manifest["fingerprint"] == kept.manifest["fingerprint"] == job["result"]["fingerprint"]
    assert again.verdict == kept.verdict == job["result"]["verdict"] == "valid"


def _interventions(run: mobilenet.Run) -> list[dict[str, Any]]:
    return [one.model_dump() for one in mobilenet.Scenario.load(run.path / "scenario.yaml").interventions]


@pytest.mark.long
def test_live_states_contain_the_recorded_events(talk: Talk, tmp_path: Path) -> None:
    talk.ask("play", speed=8)
    talk.until_state(lambda one: one["time_ns"] > 10**9)
    talk.play_out()
    states = [one for one in talk.states if one["type"] == "state"]
    run = mobilenet.run(FIRST, out=tmp_path / "plain")
    events = run.events
    rows = [
        (at, event, host)
        for state in states
        for at, event, host in zip(*(state["events"][name] for name in ("time_ns", "event", "host")), strict=True)
    ]
    rare = events[~events["event"].isin(["deliver", "broadcast"])]
    assert rows == [(row.time_ns, row.event, int(row.node[1:])) for row in rare.itertuples()]
    sent = [name for state in states for name in state["broadcasts"]["message"]]
    assert sent == events[events["event"] == "broadcast"]["message"].tolist()
    assert sum(state["deliveries"]["count"] for state in states) == (events["event"] == "deliver").sum()
    whole = [state for state in states if state["deliveries"]["is_whole"]]
    assert whole
    assert all(len(state["deliveries"]["time_ns"]) == state["deliveries"]["count"] for state in whole)


@pytest.mark.long
def test_listeners_are_notified_of_wires_stations_and_new_hosts(talk: Talk) -> None:
    talk.ask("play", speed="max", until_s=2)
    for what, how in (
        ("cut", {"link": ["s0", "s1"]}),
        ("radio_off", {"station": "s2"}),
        ("add", {"to_m": [100, 0]}),
        ("mend", {"link": ["s1", "s0"]}),
        ("radio_on", {"station": "s2"}),
    ):
        assert "error" not in talk.do(what, **how)
    state = talk.until_state(lambda one: len(one.get("interventions", ())) == 5)
    assert len(state["hosts"]["x_cm"]) == 7
    talk.play_out()
    event_names = [event for one in talk.states if one["type"] == "state" for event in one["events"]["event"]]
    assert [event for event in event_names if event in ("cut", "radio_off", "mend", "radio_on")] == [
        "cut", "radio_off", "mend", "radio_on",
    ]  # fmt: skip


@pytest.mark.long
def test_two_listeners_can_watch_the_same_run(served: Server) -> None:
    with Talk(served) as first, Talk(served) as second:
        for talk in (first, second):
            talk.since()
        first.ask("play", until_s=0.5, speed=4)
        for talk in (first, second):
            assert talk.until_at(0.5)["time_ns"] == 5 * 10**8
        second.do("crash", host="h2")
        state = first.until_state(lambda one: one.get("interventions"))
        assert [one["host"] for one in state["interventions"]] == ["h2"]


@pytest.mark.long
def test_listeners_choose_their_pace_but_see_actions_at_once(served: Server) -> None:
    with Talk(served) as slow, Talk(served) as usual:
        for talk in (slow, usual):
            talk.since()
        slow.ask("pace", states_per_s=0.1)
        usual.ask("play", speed=4)
        while len(usual.states) < 25:  # The time that this takes depends on the machine.
            usual.receive()
        assert "error" not in slow.do("crash", host="h3")
        done = slow.until_state(lambda one: one.get("interventions"))
        assert done["interventions"][0]["do"] == "crash"
        assert len(usual.states) > 2 * len(slow.states)
        end_s = done["time_ns"] / 1e9 + 1
        usual.ask("play", speed="max", until_s=end_s)
        for talk in (slow, usual):
            talk.until_at(end_s)
    times_ns = [
        [time_ns for state in talk.states for time_ns in state["deliveries"]["time_ns"]] for talk in (slow, usual)
    ]
    assert times_ns[0] == times_ns[1]  # The slow client receives all deliveries, too.


@pytest.mark.long
def test_a_live_run_waits_while_a_client_views_the_past(talk: Talk, served: Server) -> None:
    talk.ask("play", speed=1, until_s=25)
    with Talk(served) as other:
        other.since()
        other.ask("hold", on=True)
        waiting = talk.until_state(lambda one: "is_held" in one)
        assert not waiting["is_playing"]
        time.sleep(0.3)
        talk.ask("hold", on=True)  # Both clients now hold the run.
        talk.ask("hold", on=False)
        assert talk.ask("pace", states_per_s=20)["time_ns"] == waiting["time_ns"]
        released_s = time.monotonic()
    going = talk.until_state(lambda one: one["is_playing"])
    # The run does not catch up on the time for which it was held.
    assert 0 <= going["time_ns"] - waiting["time_ns"] <= (time.monotonic() - released_s) * 1e9
    talk.ask("hold", on=True)
    talk.ask("play", speed="max")  # The client that plays releases its hold, so the run resumes.
    talk.until_state(lambda one: one["time_ns"] >= 25 * 10**9)
    talk.ask("hold", on=False)


@pytest.mark.long
def test_a_step_survives_a_client_viewing_the_past(tmp_path: Path) -> None:
    with serving(tmp_path, str(SCENARIOS / "dynamic.yaml"), "--set", "duration_s=60") as served:
        with Talk(served) as talk:
            talk.since()
            talk.send("step", what="violation")  # The client does not wait for the reply, so the step is not over yet.
            talk.ask("hold", on=True)
            talk.until_state(lambda one: "is_held" in one)
            talk.ask("hold", on=False)
            assert talk.until_state(lambda one: "stepped" in one)["is_over"]
        assert served.end()[0] == 0


@pytest.mark.long
def test_a_slow_listener_does_not_slow_the_run(talk: Talk) -> None:
    talk.ask("pace", states_per_s=0.1)
    began_s = time.monotonic()
    talk.play_to(5, 50)
    assert time.monotonic() - began_s < 9.5  # This takes 0.1 s on a fast machine. The listener would wait for 10 s.


class Slow(Page):
    """A client that is sometimes not ready to receive a state."""

    def __init__(self) -> None:
        Listener.__init__(self)
        self.is_ready = True
        self.states: list[dict[str, Any]] = []

    @property
    def can_take(self) -> bool:
        return self.is_ready

    def tell(self, text: str) -> None:
        self.states.append(json.loads(text))


@pytest.fixture
def slow() -> tuple[Desk, Sockets, Slow]:
    desk = Desk(mobilenet.live(FIRST))
    server, listener = Sockets(desk, lambda: ""), Slow()
    listener.place = Place(0, 0)
    server.listeners.append(listener)
    return desk, server, listener


def test_a_busy_listener_receives_the_latest_state_once_ready(slow: tuple[Desk, Sockets, Slow]) -> None:
    desk, server, listener = slow
    desk.session.play(5)
    listener.is_ready = False
    assert not server.tell_all(True)
    assert not server.tell_all(False)
    listener.is_ready = True
    assert server.tell_all(False)  # The server sends the state even though the run is paused.
    assert [state["time_ns"] for state in listener.states] == [5_000_000_000]
    assert server.tell_all(False)
    assert len(listener.states) == 1


def test_a_listener_far_behind_catches_up_during_a_pause(
    slow: tuple[Desk, Sockets, Slow], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, server, listener = slow
    monkeypatch.setattr(stream, "MOST_ROWS", 100)
    desk.session.play()
    rows = len(desk.session.simulation.recording.events)
    assert not server.tell_all(True)
    while not server.tell_all(False):
        pass
    assert len(listener.states) == -(-rows // 100)
    row_count = sum(
        len(state["events"]["time_ns"]) + len(state["broadcasts"]["time_ns"]) + state["deliveries"]["count"]
        for state in listener.states
    )
    assert row_count == rows


@pytest.mark.long
def test_live_delivery_queries_match_the_record(talk: Talk, tmp_path: Path) -> None:
    talk.play_to(12)
    of_h2 = talk.ask("watch", node="h2", deliveries=True)["delivered"]
    had = [talk.ask("message", message=f"h{host}:{seq}") for host in range(6) for seq in range(3)]
    assert "delivered" not in talk.ask("watch", node="h2")
    run = mobilenet.run(FIRST, out=tmp_path / "whole")
    events = run.events[(run.events["time_ns"] <= 12_000_000_000) & (run.events["event"] == "deliver")]
    own = events[events["node"] == "h2"]
    assert of_h2 == {"time_ns": own["time_ns"].tolist(), "message": own["message"].tolist()}
    assert len(own) > 10
    for reply in had:
        rows = events[events["message"] == reply["message"]]
        assert reply["time_ns"] == rows["time_ns"].tolist()
        assert [f"h{host}" for host in reply["host"]] == rows["node"].tolist()
    assert sum(len(reply["host"]) for reply in had) > 50


@pytest.mark.long
def test_a_late_delivery_can_be_explained_during_a_live_run(talk: Talk, tmp_path: Path) -> None:
    talk.play_to(4)
    talk.ask("do", what={"do": "loss", "loss": 0.2})
    talk.play_to(9)
    reply = talk.ask("message", message="h2:1")
    host = reply["host"][-1]
    assert "job" in talk.ask("why", message="h2:1", host=f"h{host}")
    job = talk.job()
    assert job["state"] == "done", job
    assert job["result"]["delay_ns"] == reply["time_ns"][-1] - reply["broadcast_ns"]
    assert sum(length for _, length, *_ in job["result"]["stretches"]) * 1e6 == pytest.approx(
        job["result"]["delay_ns"], rel=1e-12
    )


@pytest.mark.long
def test_a_listener_receives_the_run_again_after_a_rewind(talk: Talk) -> None:
    assert talk.play_to(6)["time_ns"] == 6 * 10**9
    talk.ask("rewind", to_s=2)
    while talk.receive()["type"] != "again":
        pass
    talk.since(1)
    assert talk.state()["time_ns"] == 2 * 10**9


def test_the_live_page_requires_the_token_host_and_origin(served_to_all: Server) -> None:
    page = urllib.request.urlopen(served_to_all.url)
    text = page.read().decode()
    assert "mobilenet-data" in text
    assert "connect-src 'self'" in page.headers["Content-Security-Policy"]
    base = f"http://127.0.0.1:{served_to_all.port}/"
    assert refusal(base)[0] == 403
    assert "token is missing or wrong" in refusal(f"{base}?token=wrong")[1]
    assert "origin" in refusal(served_to_all.url, Origin="http://evil.example")[1]
    # These are the headers that a browser sends through ssh -L 9000:127.0.0.1:PORT.
    forwarded = {"Host": "localhost:9000", "Origin": "http://localhost:9000"}
    with urllib.request.urlopen(urllib.request.Request(served_to_all.url, headers=forwarded)) as answer:
        assert answer.status == 200
    assert "origin" in refusal(served_to_all.url, Host="localhost:9000", Origin="http://localhost:9001")[1]
    for host in ("localhost.evil.example", "127.0.0.1.evil.example:80", "evil.example"):
        assert "Host header" in refusal(served_to_all.url, Host=host)[1]
    assert "does not match the address" in refusal(served_to_all.url, Host="evil.example")[1]
    assert refusal(served_to_all.url.replace("/?", "/etc/passwd?"))[0] == 404
    for bad in ("token=wrong", "", "token="):
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://127.0.0.1:{served_to_all.port}/socket?{bad}")
    with pytest.raises(InvalidStatus, match="403"):
        address = served_to_all.url.replace("http", "ws").replace("/?", "/socket?")
        connect(address, additional_headers={"Origin": "http://evil.example"})


@pytest.mark.parametrize("request_", ["GET //[x HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n"])
def test_the_live_server_rejects_a_malformed_request_in_one_line(served_to_all: Server, request_: str) -> None:
    with socket.create_connection(("127.0.0.1", served_to_all.port)) as other:
        other.sendall(f"{request_}\r\n".encode())
        answer = other.makefile("rb").read().decode()
    assert answer.startswith("HTTP/1.1 403")
    assert answer.endswith("refused: not a valid HTTP request\n")


def test_the_live_server_listens_only_on_this_machine(served_to_all: Server) -> None:
    with socket.socket() as other:
        other.settimeout(2)
        own = socket.gethostbyname(socket.gethostname())
        if own.startswith("127."):
            pytest.skip("this machine has no other address")
        assert other.connect_ex((own, served_to_all.port)) != 0


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ("garbage", "not JSON"),
        ("[1, 2]", "expected an object"),
        ('{"command": "explode"}', "command: got 'explode', expected one of play, speed, pause"),
        ('{"command": "play", "speed": 0}', "speed"),
        ('{"command": "play", "speed": "fast"}', "speed"),
        ('{"command": "play", "speed": NaN}', "speed"),
        ('{"command": "step", "what": "leap"}', "what: "),
        ('{"command": "rewind", "to_s": 99}', "rewind: got 99 s, expected a time between 0 and the current time"),
        ('{"command": "rewind", "to_s": -1}', "to_s: "),
        ('{"command": "switch", "branch": 7}', "switch: branch 7 does not exist"),
        ('{"command": "do", "what": {"do": "crash", "host": "h99"}}', "h99 does not exist; there are 6 hosts"),
        ('{"command": "do", "what": {"do": "drag", "host": "h1", "to_m": [1]}}', "to_m"),
        ('{"command": "do", "what": {}}', "do: "),
        (
            '{"command": "do", "what": {"do": "crash", "host": "h1"}, "back_to_s": 20}',
            "do: back_to_s: got 20 s, expected at most the current time, 0 s",
        ),
        ('{"command": "do", "what": {"what": 1, "self": 2, "do": "crash"}}', ""),
        ('{"command": "effect", "intervention": 3}', "effect: intervention 3 does not exist"),
        ('{"command": "save", "name": "../../etc"}', "name: "),
        ('{"command": "why", "message": "h1:0", "host": "h3"}', "why: h3 has not delivered h1:0 yet"),
        ('{"command": "why", "message": "h1:0", "host": "s3"}', "host: "),
        ('{"command": "watch", "node": 3}', "node: "),
        ('{"command": "pause", "why": 1}', "why: "),
        ("[" * 50_000, ""),
    ],
)
def test_an_invalid_live_command_does_not_end_the_session(served_to_all: Server, message: str, complaint: str) -> None:
    with Talk(served_to_all) as talk:
        talk.socket.send(message)
        reply = talk.receive()
        assert complaint in reply["error"]
        assert "\n" not in reply["error"]
        assert len(reply["error"]) < 450
        assert "error" not in talk.ask("pause")


def test_watching_an_unknown_node_is_rejected(served_to_all: Server) -> None:
    with Talk(served_to_all) as talk:
        talk.since()
        assert "there is no h77" in talk.ask("watch", node="h77")["error"]
        assert "error" not in talk.ask("watch", node="s1")
        assert talk.until_state(lambda one: "card" in one)["card"]["node"] == "s1"


def test_an_oversized_message_closes_only_its_socket(served_to_all: Server) -> None:
    with Talk(served_to_all) as rude, Talk(served_to_all) as other:
        with pytest.raises(ConnectionClosed) as error:
            rude.socket.send("x" * 10_000_000)
            rude.receive()
        assert error.value.rcvd is None or error.value.rcvd.code == 1009
        assert "error" not in other.ask("pause")


class Flood:
    """A connection on which messages arrive at certain times, given as pairs of a number of messages and a time."""

    def __init__(self, *bursts: tuple[int, float]) -> None:
        self._times_s = [time_s for count, time_s in bursts for _ in range(count)]
        self.count = 0
        self.now_s = 0.0
        self.replies: list[dict[str, Any]] = []

    def __aiter__(self) -> Flood:
        return self

    async def __anext__(self) -> str:
        if self.count == len(self._times_s):
            raise StopAsyncIteration
        self.now_s = self._times_s[self.count]
        self.count += 1
        return json.dumps({"command": "pause", "id": self.count})

    async def send(self, text: str) -> None:
        self.replies.append(json.loads(text))


def test_the_live_server_rejects_a_flood_of_commands(
    slow: tuple[Desk, Sockets, Slow], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, server, _ = slow

    async def answer(listener: Listener, text: str | bytes) -> dict[str, Any]:
        return desk.answer(text, listener)

    flood: Any = Flood((1000, 0.0), (1, 0.9), (1, 1.0), (150, 1.5))
    monkeypatch.setattr(server_module, "time", SimpleNamespace(monotonic=lambda: flood.now_s))
    monkeypatch.setattr(server, "_answer", answer)
    asyncio.run(server._listen(flood))
    answered = [reply["id"] for reply in flood.replies if "error" not in reply]
    assert answered == [*range(1, 101), *range(1002, 1102)]
    # There is one error per second.
    errors = {reply["id"]: reply["error"] for reply in flood.replies if "error" in reply}
    why = "more than 100 messages a second: further messages in this second are dropped"
    assert errors == {101: why, 1102: why}


@pytest.mark.long
def test_saving_a_run_states_why_its_verdict_is_unknown(tmp_path: Path) -> None:
    short = ("duration_s=2", "drain_s=0.001", "workload.interval_s=0.05")
    with serving(tmp_path, str(FIRST), *(f"--set={one}" for one in short)) as served, Talk(served) as talk:
        talk.since()
        talk.ask("save", name="mine")
        assert talk.job()["text"].startswith(
            "saved in runs/mine: unknown (delivery: the run was not quiescent at its end)"
        )


@pytest.mark.long
def test_a_background_job_has_low_priority_and_can_be_cancelled(talk: Talk, served: Server) -> None:
    talk.play_to(2)
    talk.do("crash", host="h1")
    number = talk.ask("effect", intervention=0)["job"]
    session = psutil.Process(served.process.pid)
    until = time.monotonic() + PATIENCE_S
    while (niceness := [child.nice() for child in session.children()]) != [min(19, session.nice() + BEHIND)]:
        assert time.monotonic() < until, niceness
        time.sleep(0.01)
    assert "error" not in talk.ask("cancel", job=number)
    job = talk.job()
    assert (job["state"], job["text"]) == ("failed", "cancelled")
    assert talk.ask("cancel", job=number)["error"] == f"cancel: job {number} is not in progress"


@pytest.mark.long
def test_ctrl_c_saves_a_live_run_marked_as_ended_early(talk: Talk, served: Server, tmp_path: Path) -> None:
    talk.play_to(5)
    talk.do("crash", host="h1")
    code, out, err = served.end()
    assert (code, err) == (0, "")
    assert "the run up to that point, with 1 intervention, is in runs/first-live-s1, marked as ended early" in out
    kept = mobilenet.load(tmp_path / "runs" / "first-live-s1")
    assert kept.manifest["ended_by_error"].startswith("stopped by hand at 5 s")
    assert kept.verdict == "unknown"
    assert out.splitlines()[-1] == "Next: mobilenet run runs/first-live-s1/scenario.yaml"
    again = mobilenet.run(kept.path / "scenario.yaml", out=tmp_path / "again")
    assert again.events[: len(kept.events)].equals(kept.events)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_live_run_without_interventions_leaves_no_files(served: Server, tmp_path: Path, number: int) -> None:
    with Talk(served) as talk:
        talk.ask("play", speed=2)
        code, out, _ = served.end(number)
    assert code == 0
    assert "no interventions to save" in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--out", "/proc/there/is/no/room"), "/proc/there/is/no/room: cannot be written: "),
        (("--speed", "fast"), "--speed: got 'fast', expected a number from 0.01 to 1000, or max"),
        (("--speed", "0"), "--speed: got '0', expected a number from 0.01 to 1000, or max"),
    ],
)
def test_live_rejects_impossible_options_in_one_line(options: tuple[str, ...], complaint: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mobilenet", "live", str(FIRST), "--no-browser", *options],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(complaint)
    assert done.stderr.count("\n") == 1
    assert not any(tmp_path.iterdir())


def test_an_unresponsive_listener_does_not_delay_the_shutdown(slow: tuple[Desk, Sockets, Slow]) -> None:
    _, server, listener = slow
    server.listeners.remove(listener)
    server.start()
    address = urlsplit(server.address)
    with socket.create_connection(("127.0.0.1", address.port)) as deaf:
        deaf.sendall(
            f"GET /socket?{address.query} HTTP/1.1\r\nHost: {address.netloc}\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
            .encode()
        )  # fmt: skip
        assert deaf.recv(100).startswith(b"HTTP/1.1 101")
        server.close()
        # By default, the server would wait up to 10 s for a listener to close its connection, and `close` up to 5 s.
        assert not server._thread.is_alive()


@pytest.mark.long
def test_live_reports_a_port_in_use_in_one_line(served_to_all: Server, tmp_path: Path) -> None:
    other = Server(tmp_path, str(FIRST), "--port", str(served_to_all.port))
    _, err = other.process.communicate(timeout=PATIENCE_S)
    assert other.process.returncode == 2
    assert len(err.splitlines()) == 1
    assert f"port {served_to_all.port}: " in err


@pytest.mark.parametrize("what", ["broadcast", "join", "leave"])
def test_a_host_that_is_down_accepts_only_recovery(talk: Talk, what: str) -> None:
    talk.play_to(2)
    assert "error" not in talk.do("crash", host="h1")
    assert talk.do(what, host="h1")["error"] == f"do: h1 is down, so it cannot {what}; expected `recover` first"
    assert "error" not in talk.do("recover", host="h1")
    assert ("error" in talk.do(what, host="h1")) is (what == "join")  # A host that is a member cannot join.
