"""Tests of programs that use UDP. They run as real processes with real sockets on the emulated network, in real
time.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mobilenet.api import Run, run
from mobilenet.cli.serve import _summary, _take_ctrl_c
from mobilenet.lab.hunt.swarm.shrink import Shrinking
from mobilenet.lab.programs.children import Children
from mobilenet.lab.programs.realtime.gateway import Gateway
from mobilenet.lab.programs.realtime.pace import Pace
from mobilenet.lab.replay.rerun import protocol_messages
from mobilenet.lab.replay.transcript import lines_of
from mobilenet.parameters import ScenarioError
from mobilenet.record.reader import RunError
from mobilenet.simulation.parties import RealTime
from mobilenet.simulation.plugin_code import PluginError
from mobilenet.verify import verify_run
from tests.lab.programs.own import alive, has_ended, wait_until
from tests.lab.programs.realtime.own import (
    ON_LINUX,
    PATIENCE_S,
    PORTS,
    Holds,
    jumping,
    port_of,
    scenario,
    serve,
    talk,
)  # fmt: skip
from tests.lab.programs.test_replay_and_shrink import command

pytestmark = ON_LINUX
SAMPLE = Path(__file__).parents[4] / "scenarios" / "programs" / "udp.yaml"
TALK = """
if me == 0:
    while True:
        try: own.recvfrom(100); break  # the other one is there
        except TimeoutError: pass
    for number in range(5):
        say(f"broadcast {number}"); say(f"deliver 0 {number}")
        own.sendto(b"%d" % number, peers[1])
        time.sleep(0.05)
else:
    expected = 0
    while expected < 5:
        try: data, sender = own.recvfrom(100)
        except TimeoutError: own.sendto(b"ready", peers[0]); continue
        assert sender == peers[0], sender  # it can answer whoever has written
        say(f"deliver 0 {data.decode()}")
        expected += 1
"""


def times(event: str, count: int) -> Holds:
    """Return the condition that this event has occurred this many times."""
    return lambda names: names.count(event) >= count


def command_for(path: Path, *more: str) -> list[str]:
    """Return the command that runs the scenario and writes the run next to it."""
    return [sys.executable, "-m", "mobilenet", "serve", str(path), "--out", str(path.parent / "run"), *more]


@pytest.mark.long
def test_serve_records_and_judges_what_programs_print_and_send(tmp_path: Path) -> None:
    done = talk(tmp_path, TALK, until=times("deliver", 10), protocol={"promises": "causal"})
    assert done.verdict == "valid"
    assert done.metrics["datagrams"] >= done.metrics["datagrams_received"] > 5  # type: ignore[operator]
    assert done.metrics["broadcasts"] == 5 and done.metrics["deliveries"] == 10
    assert done.metrics["delivery_ratio"] == 1
    assert 0.001 < done.metrics["datagram_delay_mean_s"] < 1.0  # type: ignore[operator]
    real_time = done.manifest["real_time"]
    assert real_time["lateness_ms"]["p50"] <= real_time["lateness_ms"]["p99"] <= real_time["lateness_ms"]["max"]
    assert done.manifest["command"].startswith("mobilenet serve ")
    sent = done.events[(done.events.event == "datagram") & (done.events.node == "h0")]
    assert [json.loads(detail) for detail in sent.detail] == [{"bytes": 1, "to": "h1"}] * 5


@pytest.mark.long
def test_the_udp_sample_violates_no_promise(tmp_path: Path) -> None:
    port = next(PORTS)
    changes = {"duration_s": PATIENCE_S, "warmup_s": 0, "drain_s": 1, "protocol.port": port}
    changes["protocol.own_port"] = port + 1
    with jumping(tmp_path, (PATIENCE_S, times("deliver", 20))):
        done = run(SAMPLE, out=tmp_path / "run", overrides=changes, allow_code=True, real_time=RealTime())
    assert done.verdict != "violated"
    assert done.metrics["deliveries"] > done.metrics["broadcasts"] > 0  # type: ignore[operator]


LIES = {
    "creation": TALK.replace('say(f"deliver 0 {data', 'say(f"deliver 0 9{data'),
    "duplication": TALK.replace('say(f"deliver 0 {data', 'say("deliver 0 0"); say(f"deliver 0 {data'),
}
# In the first case, h1 delivers nothing that h0 has broadcast. In the second, it delivers one message six times.
FALSE_EVENTS = {"creation": times("deliver", 10), "duplication": times("deliver", 15)}


@pytest.mark.long
@pytest.mark.parametrize("broken", ("creation", "duplication"))
def test_serve_finds_programs_that_report_false_events(broken: str, tmp_path: Path) -> None:
    done = talk(tmp_path, LIES[broken], until=FALSE_EVENTS[broken], protocol={"promises": "fifo"})
    assert done.verdicts[broken].answer == "violated"


@pytest.mark.long
def test_serve_detects_deliveries_in_the_wrong_order(tmp_path: Path) -> None:
    late = TALK.replace("expected = 0", "expected = 0; held = []").replace(
        'say(f"deliver 0 {data.decode()}")', "held.append(data.decode())"
    )
    late += "\n    for each in held[::-1]: say(f'deliver 0 {each}')"
    done = talk(tmp_path, late, until=times("deliver", 10), protocol={"promises": "fifo"})
    assert done.verdicts["fifo_order"].answer == "violated"


@pytest.mark.long
def test_datagrams_of_served_programs_are_subject_to_radio_loss(tmp_path: Path) -> None:
    done = talk(tmp_path, TALK, until=times("datagram", 3), wireless={"loss": 1.0, "retry_limit": 2})
    assert done.metrics["datagrams"] > 2  # type: ignore[operator]
    assert done.metrics["datagrams_received"] == 0


OUTAGE = {"schedule": "explicit", "outages": [{"host": "h0", "at_s": 20.0, "duration_s": 0.3}]}


def lives(folder: Path, pattern: str, count: int) -> Holds:
    """Return the condition that this many lives of programs have written something into their files."""
    return lambda names: sum(file.stat().st_size > 0 for file in folder.glob(pattern)) >= count


def before_crash(folder: Path, pattern: str) -> tuple[float, Holds]:
    """Let both programs work before the crash of h0, which then follows at once."""
    return 20.0, lives(folder, pattern, 2)


def test_a_crash_kills_the_program_and_a_recovery_starts_another(tmp_path: Path) -> None:
    code = "with open(f'life-{me}-{time.monotonic_ns()}', 'w') as file: file.write('here')\nwhile True: time.sleep(1)"
    done = talk(tmp_path, code, jumps=[before_crash(tmp_path, "life-?-*")], until=lives(tmp_path, "life-?-*", 3),
                faults=OUTAGE)  # fmt: skip
    assert done.metrics["crashes"] == 1 and done.verdicts["record"].answer == "valid"
    assert len(list(tmp_path.glob("life-0-*"))) == 2 and len(list(tmp_path.glob("life-1-*"))) == 1
    assert not alive(tmp_path)


@pytest.mark.long
def test_a_restarted_program_can_number_its_messages_from_0(tmp_path: Path) -> None:
    code = """
log = open(f"log{me}.txt", "w")
read()  # The emulator has to see that the file is shorter than before.
for number in range(3): log.write(f"broadcast {number}\\ndeliver {me} {number}\\n"); log.flush(); time.sleep(0.02)
while True: time.sleep(1)"""
    path = scenario(tmp_path, code, faults=OUTAGE, protocol={"promises": "fifo", "logs": "log{me}.txt"})
    for out in ("one", "two"):  # The second run finds the log files of the first run.
        done = serve(path, out, jumps=[(20.0, times("deliver", 6))], until=times("deliver", 9))
        assert done.verdict == "valid", done.verdicts
        of_h0 = done.events[(done.events.node == "h0") & done.events.event.isin(["broadcast", "deliver"])]
        assert of_h0.message.drop_duplicates().tolist() == [f"h0:{number}" for number in range(6)]


@pytest.mark.long
def test_a_crash_also_kills_a_program_that_closed_its_output(tmp_path: Path) -> None:
    code = """
os_close = __import__("os").close; os_close(1)
beats = open(f"beats-{me}-{time.monotonic_ns()}", "w")
while True: print(time.monotonic(), file=beats, flush=True); time.sleep(0.02)"""
    talk(tmp_path, code, jumps=[before_crash(tmp_path, "beats-*")], until=lives(tmp_path, "beats-*", 3), faults=OUTAGE)
    first, second = sorted(tmp_path.glob("beats-0-*"), key=lambda path: path.stat().st_mtime)
    assert float(first.read_text().split()[-1]) < float(second.read_text().split()[0])


NO_NUMBERS = {
    "say('broadcast ' + '9' * 5000)": {},
    "say('deliver 0 ' + '9' * 13)": {},
    "say('broadcast abc')": {"broadcast": "broadcast (?P<number>[a-z]+)"},
    "say('broadcast')": {"broadcast": "broadcast ?(?P<number>[0-9]+)?"},
}


@pytest.mark.parametrize("code", NO_NUMBERS)
def test_serve_reports_a_malformed_number_in_one_line(code: str, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"h\d: in its line .*, expected a whole number of at most 12 digits"):
        talk(tmp_path, f"{code}\nwhile True: time.sleep(1)", protocol={"lines": NO_NUMBERS[code]})


@pytest.mark.parametrize("logs", [None, "log{me}.txt"])
def test_serve_reports_an_unknown_sender_in_one_line(logs: str | None, tmp_path: Path) -> None:
    lines = "broadcast 0\ndeliver 1 0\ndeliver 2 0\n"  # Programs that number hosts from 1 write such lines.
    write = f"say({lines!r})" if logs is None else f"open(f'log{{me}}.txt', 'w').write({lines!r})"
    path = scenario(tmp_path, f"{write}\nwhile True: time.sleep(1)", protocol={"promises": "fifo", "logs": logs})
    command = command_for(path, "--allow-code")
    done = subprocess.run(command, capture_output=True, text=True)
    where = "its standard output" if logs is None else "\\S*log[01].txt"
    expected = (
        f"protocol.lines.deliver: in the line deliver 2 0 of h[01] in {where}, got sender 2, expected a host from 0"
    )
    assert done.returncode == 2
    assert re.search(f"{expected} to 1; if the programs number hosts from 1, ", " ".join(done.stderr.split()))
    assert not (tmp_path / "run").exists()  # A run whose record contains wrong senders must be removed.
    assert not alive(tmp_path)


GUESSES = """
if me == 0:
    say("broadcast 0\\ndeliver 0 0")
    read()
    open("said", "w").close()
else:
    while not os.path.exists("said"): time.sleep(0.01)
    {sends}
    say("deliver 0 0")
while True: time.sleep(1)"""
RELAYED = """
if me == 0:
    say("broadcast 0\\ndeliver 0 0")
    while True: own.sendto(b"0", peers[1]); time.sleep(0.1)
met = False
while True:
    try: data = own.recv(100)
    except TimeoutError: continue
    if not met: say("deliver 0 0")
    met = True
    if me == 1: own.sendto(data, peers[2])"""


@pytest.mark.long
@pytest.mark.parametrize("sends", ("pass", "own.sendto(b'hello', peers[0]); read()"))
def test_a_delivery_without_a_datagram_is_unknown(sends: str, tmp_path: Path) -> None:
    done = talk(tmp_path, GUESSES.format(sends=sends), until=times("deliver", 2), protocol={"promises": "fifo"})
    creation = done.verdicts["creation"]
    assert creation.answer == done.verdict == "unknown", done.verdicts
    assert (
        "h1 delivers h0:0, but by then h1 had received no datagram that was sent after the broadcast of h0:0"
        in creation.explanation
    )
    assert verify_run(done.path) == done.verdicts


@pytest.mark.long
def test_a_delivery_relayed_by_another_host_is_valid(tmp_path: Path) -> None:
    done = talk(tmp_path, RELAYED, 3, times("deliver", 3), protocol={"promises": "fifo"})
    assert done.metrics["deliveries"] == 3
    assert done.verdicts["creation"].answer == "valid", done.verdicts


def test_serve_accepts_a_run_in_which_host_0_sends_nothing(tmp_path: Path) -> None:
    code = """
if me == 1: say("broadcast 7\\ndeliver 1 7")
while True: time.sleep(1)"""
    done = talk(tmp_path, code, until=times("deliver", 1), protocol={"promises": "fifo"})
    assert done.verdicts["creation"].answer == "valid"
    assert done.events[done.events.event == "deliver"].message.tolist() == ["h1:0"]


@pytest.mark.long
def test_ctrl_c_saves_what_a_served_run_has_recorded(tmp_path: Path) -> None:
    code = """
while True:
    own.sendto(b"x", peers[1 - me])
    try: own.recv(10); open("up", "w").close()
    except TimeoutError: pass"""
    command = command_for(scenario(tmp_path, code), "--allow-code")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as serving:
        assert wait_until((tmp_path / "up").exists)  # A datagram has crossed the network.
        serving.send_signal(signal.SIGINT)
        complaint = serving.communicate()[1]
    assert serving.returncode == 3 and "stopped by Ctrl-C at" in complaint and "marked as ended early" in complaint
    assert len(Run(tmp_path / "run").events) > 3 and not alive(tmp_path)


def test_the_real_time_clock_starts_after_the_programs() -> None:
    pace = Pace(lambda: None, RealTime())
    assert pace.wait(0, 0, 10**9) == 0  # The programs are started after this call, which may take a while.
    time.sleep(0.05)
    pace.finish_step()
    assert pace.lateness_ms() == {}
    assert pace.wait(0, 10**6, 10**9) >= 10**6
    pace.finish_step()
    assert set(pace.lateness_ms()) == {"p50", "p99", "max"}
    pace.close()


@pytest.mark.long
def test_serve_accepts_programs_that_were_started_elsewhere(tmp_path: Path) -> None:
    protocol = {"lines": {"broadcast": "sent (?P<number>[0-9]+)", "deliver": "got (?P<sender>.) (?P<number>[0-9]+)"}}
    protocol |= {"logs": "log{me}.txt", "own_port": None}  # type: ignore[dict-item]
    path = scenario(tmp_path, None, protocol=protocol)
    port = port_of(path)
    (tmp_path / "log0.txt").write_text("sent 99\n")  # An earlier run has left this file.
    heard: list[Any] = []

    def communicate() -> None:
        one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        with one, other:
            other.settimeout(0.05)
            deadline = time.monotonic() + PATIENCE_S
            while not heard and time.monotonic() < deadline:
                other.sendto(b"here I am", ("127.77.1.0", port))  # The emulator learns the address of this socket.
                with (tmp_path / "log0.txt").open("a") as log:
                    log.write("sent 1\n")
                one.sendto(b"hello", ("127.77.0.1", port))
                with suppress(TimeoutError):
                    heard.append(other.recvfrom(100))
            (tmp_path / "log1.txt").write_text("at noon got 0 1 from afar\n")

    programs = threading.Thread(target=communicate)
    programs.start()
    with jumping(tmp_path, (PATIENCE_S, times("deliver", 1))):
        status, out = command("serve", path, "--out", tmp_path / "run")
    programs.join()
    assert status == 0, out
    assert f"Host 0 sends to host 1 at 127.77.0.1:{port}" in " ".join(out.split())
    assert heard == [(b"hello", ("127.77.1.0", port))]
    done = Run(tmp_path / "run")
    assert done.verdict == "valid"  # The program does not promise anything.
    assert done.metrics["deliveries"] == 1 and done.metrics["broadcasts"] >= 1  # type: ignore[operator]


@pytest.mark.long
def test_serve_drops_and_counts_datagrams_from_strangers(tmp_path: Path) -> None:
    path = scenario(tmp_path, "while True: time.sleep(1)")

    def intrude() -> None:
        with _datagram_socket() as stranger:
            for where in ("127.0.0.1", "127.77.9.1", "127.77.1.1", *_own_address()):
                stranger.sendto(b"hello", (where, port_of(path)))

    done = serve(path, begins=intrude, until=lambda names: True)
    out = _summary(done)
    assert "dropped because they were sent to an address that no other host has" in out, out
    assert "dropped because they were sent from sockets that are not bound to a host's own address" in out, out
    assert done.metrics["datagrams"] == 0


def test_serve_tells_tcp_clients_that_only_udp_is_carried(tmp_path: Path) -> None:
    code = """
if me == 0:
    with socket.create_connection(peers[1]) as asking:
        answer = asking.recv(100).decode()
    with open("answer", "w") as file: file.write(answer)
while True: time.sleep(1)"""
    done = talk(tmp_path, code, until=lives(tmp_path, "answer", 1))
    assert done.manifest["real_time"]["asked_for_tcp"] == ["h0"]
    assert (tmp_path / "answer").read_text().startswith("mobilenet carries UDP alone")


@pytest.mark.long
def test_each_address_has_a_separate_socket_without_privileges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gateway, "_on_the_loopback", lambda gateway, port: None)
    done = talk(tmp_path, TALK, until=times("deliver", 10), protocol={"promises": "causal"})
    assert done.verdict == "valid" and done.metrics["deliveries"] == 10


FAILS = {
    "if me == 0: sys.stderr.write('no luck\\n'); sys.exit(3)": "exit code 3; the end of its standard error: no luck",
    "__import__('os').close(1); time.sleep(0.3); sys.exit(4)": "exit code 4",
    # A child process keeps the output pipe open.
    "os = __import__('os')\nif os.fork(): os._exit(4)\ntime.sleep(60)": "exit code 4",
}


@pytest.mark.parametrize("code", FAILS, ids=["at once", "with its output closed", "while another holds its output"])
def test_a_program_that_fails_ends_the_run(code: str, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=rf"h\d: its program ended with {FAILS[code]}"):
        talk(tmp_path, code)
    assert not alive(tmp_path)


@pytest.mark.long
def test_a_program_that_closes_its_output_causes_no_delay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []  # records calls of `failure`, which may take a while
    monkeypatch.setattr(Children, "failure", lambda children, child: asked.append(child))
    code = """
os.close(1); time.sleep(0.5)
with open(f"closed-{me}", "w") as file: file.write("closed")
while True: time.sleep(1)"""
    done = talk(tmp_path, code, until=lives(tmp_path, "closed-*", 2), protocol={"stop": {"after_s": 60}})
    assert done.verdicts["record"].answer == "valid"
    assert len(list(tmp_path.glob("closed-*"))) == 2 and asked == []


def test_serve_aborts_a_line_pattern_that_takes_too_long(tmp_path: Path) -> None:
    lines = {"deliver": "(?P<sender>(a+)+)(?P<number>b)", "broadcast": "t (?P<number>[0-9]+)"}
    complaint = r"h\d: searching its line a+ for protocol.lines.deliver takes longer than 1 s"
    with pytest.raises(PluginError, match=complaint):
        talk(tmp_path, "say('broadcast 7'); say('a' * 60)\nwhile True: time.sleep(1)", protocol={"lines": lines})
    assert "broadcast" in set(Run(tmp_path / "run").events.event)  # Output before the error is kept.
    assert not alive(tmp_path)


@pytest.mark.long
def test_serve_notices_several_programs_for_one_host(tmp_path: Path) -> None:
    code = """
another = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(20):
    (own if number % 2 and me == 0 else another).sendto(b"me", peers[1 - me])
    time.sleep(0.01)
while True: time.sleep(1)"""
    done = talk(tmp_path, code, until=times("datagram", 40), protocol={"own_port": None})
    assert done.manifest["real_time"]["claimed_twice"] == ["h0"]


@pytest.mark.long
def test_a_reopened_socket_does_not_count_as_a_second_program(tmp_path: Path) -> None:
    code = "own.close(); own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    code += "for _ in range(5): own.sendto(b'me', peers[1 - me]); time.sleep(0.05)\nwhile True: time.sleep(1)"
    done = talk(tmp_path, code, until=times("datagram", 15), jumps=[(20.0, times("datagram", 10))],
                protocol={"own_port": None}, faults=OUTAGE)  # fmt: skip
    assert done.metrics["crashes"] == 1 and done.manifest["real_time"]["claimed_twice"] == []


def test_a_program_that_kills_the_supervisor_ends_the_run(tmp_path: Path) -> None:
    code = "os = __import__('os')\nif me == 0: os.kill(os.getppid(), 9)\nwhile True: time.sleep(1)"
    with pytest.raises(
        PluginError, match="the process that supervises the programs was killed or stopped from outside"
    ) as caught:
        talk(tmp_path, code)
    assert not caught.value.is_input


def test_a_second_ctrl_c_ends_the_command() -> None:
    before, asked = signal.getsignal(signal.SIGINT), list[str]()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _take_ctrl_c(asked)
        signal.raise_signal(signal.SIGINT)
        assert asked == ["Ctrl-C"]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        # This is the setting under nohup, or in the background of a script.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _take_ctrl_c(asked)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_served_program_can_exit_before_the_end(tmp_path: Path) -> None:
    done = talk(tmp_path, "read(); sys.exit(0)", until=lambda names: not list(tmp_path.glob("unread-*")))
    assert done.verdicts["record"].answer == "valid"


@pytest.mark.long
def test_serve_stops_if_it_falls_behind_real_time(tmp_path: Path) -> None:
    path = scenario(tmp_path, TALK, duration_s=2.0)
    command = command_for(path, "--allow-code", "--hard-limit-ms", "0.1")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert re.search(r"the emulation is [0-9.]+ ms late, more than --hard-limit-ms 0.1; use fewer", done.stderr)
    assert "ms late" in Run(tmp_path / "run").manifest["ended_by_error"] and not alive(tmp_path)


def test_served_programs_do_not_survive_the_emulator(tmp_path: Path) -> None:
    escapes = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3): os.close(number)
open('up', 'w').close()
while True: time.sleep(1)"""
    command = command_for(scenario(tmp_path, escapes), "--allow-code")
    serving = subprocess.Popen(command, start_new_session=True)
    assert wait_until((tmp_path / "up").exists)
    assert alive(tmp_path)
    os.kill(serving.pid, signal.SIGKILL)
    serving.wait()
    assert wait_until(lambda: not alive(tmp_path))


def test_serve_reports_a_port_in_use(tmp_path: Path) -> None:
    path = scenario(tmp_path, TALK)
    with _datagram_socket() as taken:
        taken.bind(("127.0.0.1", port_of(path)))
        with pytest.raises(ScenarioError, match=r"protocol.port: cannot listen on port \d+ .*: Address already in use"):
            serve(path)
    assert not (tmp_path / "run").exists()


@pytest.mark.long
def test_a_served_run_cannot_be_repeated(tmp_path: Path) -> None:
    done = talk(tmp_path, "sys.exit(0)", until=lambda names: True)
    with pytest.raises(
        RunError, match="cannot be repeated; expected a run that recorded its messages, with --set reco"
    ):
        protocol_messages(done.path, allow_code=True)
    with pytest.raises(RunError, match="no lines to send to its programs; expected a run of programs in virtual time"):
        lines_of(done.path, allow_code=True)
    path = scenario(tmp_path, LIES["creation"], protocol={"promises": "fifo"})
    lied = serve(path, "lied", until=FALSE_EVENTS["creation"])
    with pytest.raises(RunError, match=r"a run in real time, .* expected a run in virtual time"):
        Shrinking(lied.path, allow_code=True)
    path = scenario(tmp_path, TALK)
    kept = serve(path, "kept", until=times("datagram_received", 1), overrides={"record.messages": True})
    assert set(protocol_messages(kept.path)[0].kind) >= {"Here", "Known", "Moved", "Datagram"}


def test_real_time_protocols_require_the_serve_command(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="run in real time; use mobilenet serve"):
        run(scenario(tmp_path, TALK), out=tmp_path / "run", allow_code=True)
    with pytest.raises(ScenarioError, match=r"mobile_causal runs in virtual time, with mobilenet run; expected datagr"):
        run(SAMPLE.parents[1] / "first.yaml", out=tmp_path / "run", real_time=RealTime())
    with pytest.raises(ScenarioError, match="pass --allow-code"):
        run(scenario(tmp_path, TALK), out=tmp_path / "run", real_time=RealTime())


WRONG = {
    "protocol.lines.broadcast=x": r"expected the group \(\?P<number>...\)",
    "protocol.lines.deliver='('": r"not a regular expression over bytes: missing \)",
    "protocol.lines.broadcast='(?P<number>a{99999999999999999999})'": "over bytes: the repetition number is too large",
    r"protocol.lines.broadcast='(?P<number>\u0041)'": r"over bytes: bad escape \\u",
    "protocol.lines.broadcast='(?u)(?P<number>a)'": "cannot use 'u' flag with a bytes pattern",
    "protocol.lines.broadcast='(?P<number>[[a])'": "over bytes: Possible nested set",
    "protocol.network=128.1.0.0/16": "protocol.network: 128.1.0.0/16 is not one of 127.1.0.0/16 to 127.254.0.0/16",
    "protocol.network=127.255.0.0/16": "is not one of 127.1.0.0/16 to 127.254.0.0/16",
    "protocol.network=127.300.0.0/16": "is not one of 127.1.0.0/16 to 127.254.0.0/16",
    r'protocol.command=["a\0b"]': "protocol.command.0: expected text without NUL characters",
    'protocol.command=["", a]': r"^[^\n]*protocol.command: expected a program as the first word[^\n]*$",
    f"protocol.logs='{{me}}{'a' * 300}'": "protocol.logs: expected a path in which each component is at most"
    " 200 bytes long",
    "protocol.port=80": "protocol.port",
    "protocol.logs=log.txt": "expected {me}",
    "hosts.count=257": "expected at most 256 with datagrams, because a host's number is one octet of an address",
    "workload={interval_s: 1}": "only the programs start broadcasts; expected arrivals: none",
    "hosts.count=300": "300, expected at most 256 with datagrams",
}


@pytest.mark.parametrize("override", WRONG)
def test_serve_rejects_bad_protocol_keys(override: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=WRONG[override]):
        run(scenario(tmp_path, TALK), out=tmp_path / "run", overrides=[override], real_time=RealTime())


def _datagram_socket() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def _own_address() -> list[str]:
    """Return a list with a non-loopback address of this machine, if there is one. Packets to it are also sent over the
    loopback device.
    """
    with _datagram_socket() as any_socket:
        try:
            any_socket.connect(("192.0.2.1", 9))  # This does not send a packet.
        except OSError:
            return []
        return [any_socket.getsockname()[0]]


COURSE = """import socket, sys, time
me, hosts, output = int(sys.argv[2]), [line.split() for line in open(sys.argv[4])], open(sys.argv[6], "w")
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
address = {int(number): (where, int(port)) for number, where, port in hosts}
own.bind(address[me])
own.settimeout(0.2)
def log(text): print(text, file=output, flush=True)
log("b 1")
log(f"d {me} 1")
came, delivered = {where: number for number, (where, port) in address.items()}, {me}
while True:  # each sends until all have certainly received: a datagram may be lost
    for number in address:
        if number != me: own.sendto(b"1", address[number])
    until = time.monotonic() + 0.2
    while time.monotonic() < until:
        try: sender = came[own.recvfrom(9)[1][0]]
        except TimeoutError: break
        if sender not in delivered:
            delivered.add(sender)
            log(f"d {sender} 1")
"""


@pytest.mark.long
def test_course_programs_can_number_processes_from_1(tmp_path: Path) -> None:
    """The programs start and write logs as in the projects of the course CS451 at EPFL. They run without a wrapper and
    without an idle host.
    """
    (tmp_path / "process.py").write_text(COURSE)
    words = ["--id", "{me}", "--hosts", "{hosts_file}", "--output", "{me}.output"]
    lines = {
        "broadcast": "^b (?P<number>[0-9]+)",
        "deliver": "^d (?P<sender>[0-9]+) (?P<number>[0-9]+)",
        "first_number": 1,
    }
    protocol = {"promises": "fifo", "logs": "{me}.output", "lines": lines}
    command = [sys.executable, "process.py", *words]
    path = scenario(tmp_path, None, 3, protocol=protocol | {"command": command})
    done = serve(path, until=times("deliver", 9))
    assert sorted(done.events[done.events.event == "broadcast"].message) == ["h0:0", "h1:0", "h2:0"]
    assert (done.events.event == "deliver").sum() == 9
    assert done.verdicts["fifo_order"].answer == done.verdicts["creation"].answer == "valid"


def test_programs_with_a_hosts_file_require_own_port(tmp_path: Path) -> None:
    protocol = {"own_port": None, "command": ["./x", "{hosts_file}"]}
    with pytest.raises(ScenarioError, match=r"own_port: missing; {hosts_file} names the port"):
        talk(tmp_path, "", protocol=protocol)


def test_serving_a_saved_run_again_logs_to_the_new_directory(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    code = "open(f'log{me}.txt', 'a').write('broadcast 0\\n' if me == 1 else '')\nwhile True: time.sleep(1)"
    path = scenario(tmp_path / "own", code, protocol={"promises": "fifo", "logs": "log{me}.txt"})
    with jumping(tmp_path, (PATIENCE_S, times("broadcast", 1))):
        status, output = command("serve", path, "--allow-code", "--out", tmp_path / "one")
    assert status == 4, output  # Messages were not delivered, so the verdict is unknown.
    before = {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()}
    again = tmp_path / "one" / "scenario.yaml"
    with jumping(tmp_path, (PATIENCE_S, times("broadcast", 1))):
        status, output = command("serve", again, "--allow-code", "--out", tmp_path / "two")
    assert status == 4, output  # Messages were not delivered.
    assert {file.name: file.read_bytes() for file in (tmp_path / "one").iterdir()} == before
    assert (tmp_path / "two" / "log1.txt").read_text() == "broadcast 0\n" and "log0.txt" not in before
    assert (Run(tmp_path / "two").events["event"] == "broadcast").sum() == 1


GRACE_S = 20.0
STOP: dict[str, Any] = {"protocol": {"stop": {"grace_s": GRACE_S}}, "drain_s": GRACE_S + 10}
LEAVES_ITS_PID = 'with open(f"pid-{me}", "w") as file: file.write(str(os.getpid()))\n'


def stops(folder: Path, holds: Holds) -> list[tuple[float, Holds]]:
    """Let the active part end when the condition holds, and the time for ending when the program of h0 has ended."""
    return [(PATIENCE_S, holds), (PATIENCE_S + GRACE_S, lambda names: has_ended(int((folder / "pid-0").read_text())))]


def test_programs_without_promises_stop_after_the_active_part(tmp_path: Path) -> None:
    """One program sends until it receives SIGTERM, and the other until SIGKILL. The run does not wait for them to stop
    sending.
    """
    endless = "import signal\nif me == 1: signal.signal(signal.SIGTERM, signal.SIG_IGN)\nready()\n"
    endless += "while True: own.sendto(b'x', peers[1 - me]); time.sleep(0.05)\n"
    done = talk(tmp_path, LEAVES_ITS_PID + endless, jumps=stops(tmp_path, times("datagram", 4)), **STOP)
    assert done.manifest["real_time"]["programs_stopped"] == {"h0": "SIGTERM", "h1": "SIGKILL"}
    assert done.verdict == "valid" and "drained" not in done.verdicts
    assert done.manifest["simulated_s"] < PATIENCE_S + GRACE_S + 2  # The run ends one second after the last datagram.
    code, output = command("show", done.path)
    assert code == 0 and "programs still running after duration_s ended by SIGTERM: h0; by SIGKILL: h1" in output


def test_programs_without_output_are_stopped_too(tmp_path: Path) -> None:
    """One program prints a last line and ends at SIGTERM. The other ends only at SIGKILL."""
    quiet = "import signal\ndef end(*_): say('broadcast 0'); sys.exit()\n"
    quiet += "signal.signal(signal.SIGTERM, signal.SIG_IGN if me == 1 else end)\nready()\n"
    quiet += "while True: time.sleep(0.05)\n"
    done = talk(tmp_path, LEAVES_ITS_PID + quiet, jumps=stops(tmp_path, lambda names: True), **STOP)
    assert done.manifest["real_time"]["programs_stopped"] == {"h0": "SIGTERM", "h1": "SIGKILL"}
    assert list(done.events[done.events.event == "broadcast"].message) == ["h0:0"] and done.manifest["quiescent"]


def test_programs_with_promises_keep_running_unless_configured(tmp_path: Path) -> None:
    endless = "while True: own.sendto(b'x', peers[1 - me]); time.sleep(0.05)\n"
    for number, (stop, stopped, drain_s) in enumerate(
        [({}, {}, 1.5), ({"after_s": 0.5, "grace_s": GRACE_S}, {"h0": "SIGTERM", "h1": "SIGTERM"}, GRACE_S)]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        protocol = {"promises": "best_effort", "stop": stop}
        # In the last second of the active part, the programs send as usual.
        jumps = [(PATIENCE_S - 1, times("datagram", 4))]
        done = talk(folder, endless, jumps=jumps, protocol=protocol, drain_s=drain_s)
        assert done.manifest["real_time"]["programs_stopped"] == stopped
        assert done.manifest["quiescent"] == bool(stopped)
