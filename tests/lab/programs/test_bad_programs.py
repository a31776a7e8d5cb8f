"""Tests that any fault of a program ends the run in time with a one-line error, without leaving a process behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mobilenet.api import Run, run
from mobilenet.lab.programs import party
from mobilenet.lab.programs.children import Children
from mobilenet.lab.programs.conversation import Conversation
from mobilenet.parameters import ScenarioError
from mobilenet.scenario import load_scenario
from mobilenet.simulation.parties import ProgramError
from mobilenet.simulation.plugin_code import PluginError
from tests.lab.programs.own import alive, answering, has_ended, play, scenario, wait_until

BAD = {
    "nonsense": ("print('hello')", r"line 1 of its output, hello: is not JSON; expected one object on each line"),
    "a number": ("print(5)", r'line 1 of its output, 5: expected an object with the key "do"'),
    "an unknown action": ("""print('{"do":"fly"}')""", r"'fly' is not an action; expected send, broadcast"),
    "an unknown key": ("""print('{"do":"left","session":1,"why":2}')""", "unknown key 'why'; expected keys of left: s"),
    "a missing key": ("""print('{"do":"left"}')""", "left needs the key 'session': a whole number ≥ 0"),
    "a wrong value": ("""print('{"do":"left","session":"x"}')""", "session is 'x', expected a whole number ≥ 0"),
    "null": ("""print('{"do":"left","session":null}')""", "session is null, expected a whole number ≥ 0"),
    "5000 digits": (
        "print('{\"do\":\"left\",\"session\":' + '9' * 5000 + '}')",
        "whole number with more than 4,300 digits",
    ),
    "of another role": ("""print('{"do":"serves"}')""", "'serves' is an action of a station, not of a host"),
    "no timer": ("""print('{"do":"timer","name":"x"}')""", "a timer needs either after_ns or between_ns"),
    "backwards": ("""print('{"do":"timer","name":"x","between_ns":[2,1]}')""", r"expected \[a, b\] in nanoseconds"),
    "no station": ("""print('{"do":"send","to":9,"message":1}')""", "station 9 does not exist; there are 2 stations"),
    "too big": (
        """print('{"do":"send","to":0,"message":1,"bytes":70000}')""",
        "expected a whole number from 0 to 65507",
    ),
    "too big without bytes": (
        """print('{"do":"broadcast","payload_bytes":60000,"message":"%s"}' % ('x' * 5506))""",
        "its message and payload_bytes add up to 65508 bytes, but a frame carries at most 65507; expected",
    ),
    "half a sign": (
        """print('{"do":"timer","name":"\\\\ud800","after_ns":1}')""",
        "expected text of 1 to 200 characters",
    ),
    "half a sign to store": (
        """print('{"do":"store","stable":["\\\\ud800"]}')""",
        r"stable contains a lone surrogate \(half a character\), expected text that can be encoded in UTF-8",
    ),
    "too large to store": ("""print('{"do":"store","stable":1e400}')""", "stable contains a number that is too large"),
    "too large to show": (
        """print('{"do":"show","state":{"held":1e400}}')""",
        "expected an object of finite numbers, strings without lone surrogates, true and false",
    ),
    "half a sign to show": (
        """print('{"do":"show","state":{"\\\\ud800":1}}')""",
        "expected an object of finite numbers, strings without lone surrogates, true and false",
    ),
    "half a sign as a tag": (
        """print('{"do":"broadcast","message":1,"tag":"\\\\ud800"}')""",
        "tag contains a lone surrogate",
    ),
    "too large a tag": (
        """print('{"do":"send","to":0,"message":1,"tag":1e999}')""",
        "tag contains a number that is too large",
    ),
    "too large to send": (
        """print('{"do":"send","to":0,"message":[1e999]}')""",
        "message contains a number that is too large",
    ),
    "a station beyond": (
        """print('{"do":"joined","session":1,"station":9223372036854775807}')""",
        "station is 9223372036854775807, expected a whole number ≥ 0",
    ),
    "a detail without a name to print": (
        """print('{"do":"session_confirmed","session":1,"station":0,"detail":{"\\\\ud800":1}}')""",
        "expected an object of whole numbers, with printable names of at most 100 characters",
    ),
    "not a number": ("""print('{"do":"log","text":NaN}')""", "is not JSON"),
    "deep": ("print('[' * 100000)", "is not JSON"),
    "no UTF-8": ("sys.stdout.buffer.write(b'ab\\xff\\n'); sys.stdout.flush()", "bytes that are not UTF-8, after 'ab'"),
    "a buffer too late": (
        """print('{"do":"buffer","name":"x","size":1}') if e['ev'] != 'start' else 0""",
        "buffer 'x' was not declared in the first answer of a host to `start`; declared: none",
    ),
    "after done": (
        """print('{"do":"done"}\\n{"do":"log","text":"x"}')""",
        r'after {"do":"done"}, which ends an answer',
    ),
    "done and more": ("""print('{"do":"done","x":1}')""", r'expected {"do":"done"} without other keys'),
    "a line of 2 MiB": ("print('x' * 2**21)", "a line of more than 1,048,576 bytes"),
    "an exit": ("sys.exit(7)", "its program ended with exit code 7"),
    "an exit with words": ("sys.stderr.write('no\\nluck\\n'); sys.exit(7)", "the end of its standard error: no | luck"),
    "a crash": ("os.kill(os.getpid(), signal.SIGSEGV)", "its program was killed by signal 11"),
    "closed pipes": ("os.close(1); time.sleep(60)", "its program closed its standard output"),
    "closed input": ('os.close(0); print(\'{"do":"done"}\', flush=True); time.sleep(60)', "its program closed"),
}


@pytest.mark.long
@pytest.mark.parametrize("what", BAD)
def test_invalid_program_output_is_reported_in_one_line(what: str, tmp_path: Path) -> None:
    code, complaint = BAD[what]
    began = time.monotonic()
    with pytest.raises(PluginError, match=complaint) as caught:
        play(answering(tmp_path, code))
    assert str(caught.value).startswith("h0: ") and "\n" not in str(caught.value) and len(str(caught.value)) < 1200
    assert caught.value.is_input
    assert time.monotonic() - began < 50  # Some of the programs would sleep for 60 s.
    assert wait_until(lambda: not alive(tmp_path))


@pytest.mark.parametrize("code", ["time.sleep(60)", "sys.stdout.write('{\"do\"'); sys.stdout.flush(); time.sleep(60)"])
def test_a_program_that_does_not_answer_in_time_ends_the_run(code: str, tmp_path: Path) -> None:
    # On a busy machine, the program of a station may be late before.
    with pytest.raises(PluginError, match=r"[hs]0: no answer within 0.5 s \(protocol.answer_within_s\)") as caught:
        play(answering(tmp_path, code, answer_within_s=0.5))
    assert not caught.value.is_input  # The exit code is 3.
    assert wait_until(lambda: not alive(tmp_path))


IN_PIECES = """
for _ in range(2):  # an answer in pieces, each of them in time
    time.sleep(0.7)
    print('{"do":"log","text":"x"}', flush=True)
"""


@pytest.mark.long
def test_a_slowly_read_and_answered_event_has_one_deadline(tmp_path: Path) -> None:
    """The input exceeds the capacity of a pipe. The program both reads it and answers it late, and one deadline covers
    both delays. Only if the test itself is not scheduled at the deadline may an answer count, but not five of them.
    """
    (tmp_path / "late.py").write_text(
        "import sys, time\nwhile True:\n"
        "    time.sleep(0.7); sys.stdin.readline(); time.sleep(0.7)\n"
        '    print(\'{"do":"done"}\', flush=True)'
    )
    children = Children(tmp_path)
    try:
        talk = Conversation(children, children.spawn("h0", [sys.executable, "late.py"]), "h0", 1.0)
        began = time.monotonic()
        with pytest.raises(ProgramError, match="no answer within 1 s"):
            for _ in range(5):
                talk.ask("x" * 200_000)
        assert time.monotonic() - began >= 1.0
    finally:
        children.close()
    with pytest.raises(PluginError, match=r"[hs]0: no answer within 1 s"):
        play(answering(tmp_path, IN_PIECES, answer_within_s=1.0))


NOT_THERE = (
    '"joined","session":1,"station":2',
    '"gap","session":1,"station":2',
    '"session_opened","session":1,"station":2,"cause":"join"',
    '"session_confirmed","session":1,"station":2',
    '"expired","host":2',
    '"serves","host":2,"value":false',
)


@pytest.mark.parametrize("action", NOT_THERE)
def test_an_answer_that_refers_to_an_unknown_node_ends_the_run(action: str, tmp_path: Path) -> None:
    path = answering(tmp_path, f"""print('{{"do":{action}}}')""")
    kind = "host" if '"host"' in action else "station"
    own, other = ([sys.executable, name] for name in ("host.py", "silent.py"))
    words = {"protocol.command": {"host": other, "station": own} if kind == "host" else {"host": own, "station": other}}
    with pytest.raises(
        PluginError, match=f"^[hs]0: line 1 of .*: {kind} 2 does not exist; there are 2 {kind}s, .*; the event was"
    ):
        play(path, overrides=words)


AT_ONCE = {
    "timer": """print('{"do":"timer","name":"x","after_ns":0}')""",
    "dropped": """
if e["ev"] in ("join", "dropped"):
    for _ in range(600 if e["ev"] == "join" else 1): print('{"do":"broadcast","message":1,"tag":1}')""",
}


@pytest.mark.parametrize("event", AT_ONCE)
def test_an_endless_loop_of_events_at_one_instant_ends_the_run(
    event: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(party, "MOST_AT_ONCE", 2000)
    pattern = rf'h0: more than 2,000 events at the same moment, .* the last: {{"ev":"{event}",.*; expected'
    with pytest.raises(PluginError, match=pattern):
        play(answering(tmp_path, AT_ONCE[event]))
    assert wait_until(lambda: not alive(tmp_path))


def test_the_record_before_a_program_error_is_saved(tmp_path: Path) -> None:
    code = "sys.exit(3) if e['ev'] == 'broadcast' else 0"
    with pytest.raises(PluginError, match=r"exit code 3.*marked as ended early"):
        play(answering(tmp_path, code))
    assert Run(tmp_path / "run").manifest["ended_by_error"].startswith("h")


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (["no-such-program-here"], "cannot be started: No such file or directory; expected a program on the PATH"),
        (["./folder"], "cannot be started: "),
        (["plain.txt"], r"Permission denied; it is not executable; run chmod \+x \S+plain.txt, or put its"),
        (["./host.py"], r"or put its interpreter first, as in \[python3, host.py\]"),
        (["binary"], "Exec format error; expected a binary for this machine, or a first line that names an installed"),
        (["script"], "No such file or directory; expected a binary for this machine, or a first line that names an"),
    ],
)
def test_a_program_that_cannot_be_started_is_reported(command: list[str], complaint: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name, text in (("plain.txt", "nothing"), ("host.py", ""), ("binary", "nothing"), ("script", "#!/no/where\n")):
        (tmp_path / name).write_text(text)
    for name in ("binary", "script"):
        (tmp_path / name).chmod(0o755)
    with pytest.raises(PluginError, match=complaint):
        play(scenario(tmp_path, command))


WARNED = {
    "[sh, nofile.sh]": "protocol.command.1: file nofile.sh not found next to the scenario",
    "[no-such-program]": "protocol.command.0: program no-such-program not found next to the scenario or on the PATH",
    "[silent.py]": "protocol.command.0: silent.py: it is not executable; run chmod +x",
    "{host: [python3, silent.py], station: [sh, x.sh]}": "protocol.command.station.1: file x.sh not found",
}


@pytest.mark.parametrize("words", WARNED)
def test_check_warns_of_missing_programs(words: str, tmp_path: Path) -> None:
    path = scenario(tmp_path, ["python3", "silent.py", "--words", "of.py.its", "own.PY=3"], ["python3", "silent.py"])
    assert load_scenario(path).warnings() == []
    (warning,) = load_scenario(path, [f"protocol.command={words}"]).warnings()
    assert warning.startswith(WARNED[words])
    processes = tmp_path / "processes.yaml"
    processes.write_text("processes: 4\nprotocol: {command: [python3, nofile.py]}\n")
    assert load_scenario(processes).warnings() == ["protocol.command.1: file nofile.py not found next to the scenario"]


def test_the_command_of_a_protocol_has_to_be_a_list_of_words(tmp_path: Path) -> None:
    path = scenario(tmp_path, ["python3", "silent.py"])
    with pytest.raises(
        ScenarioError, match=r"protocol.command: expected a list of words, such as \[python3, host.py\]"
    ):
        load_scenario(path, ["protocol.command=python3 silent.py"])


def test_a_run_is_unknown_if_its_programs_never_settle(tmp_path: Path) -> None:
    code = """print('{"do":"settled","value":false}') if e['ev'] == 'start' else 0"""
    drained = play(answering(tmp_path, code)).verdicts["drained"]
    assert drained.answer == "unknown"
    assert drained.explanation.endswith("but a program may still act later; a longer drain_s may settle this)")


def test_programs_run_only_with_allow_code(tmp_path: Path) -> None:
    with pytest.raises(
        ScenarioError, match=r"protocol.command: runs a program, .*; if you trust it, pass --allow-code"
    ):
        run(answering(tmp_path, ""), out=tmp_path / "run")


def test_delivering_a_message_never_broadcast_is_a_violation(tmp_path: Path) -> None:
    code = (
        """print('{"do":"joined","session":1,"station":0}\\n{"do":"deliver","id":[1,7]}') if e['ev'] == 'join' else 0"""
    )
    done = play(answering(tmp_path, code))
    assert done.verdict == "violated" and done.verdicts["creation"].answer == "violated"


ESCAPES = """
if e['ev'] == 'start' and os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for number in range(3): os.close(number)
        time.sleep(300)
    os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only process groups are ended")
def test_processes_forked_by_programs_are_terminated(tmp_path: Path) -> None:
    play(answering(tmp_path, ESCAPES))
    assert wait_until(lambda: not alive(tmp_path))


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only process groups are ended")
def test_programs_do_not_survive_a_killed_emulator(tmp_path: Path) -> None:
    answering(tmp_path, ESCAPES + "time.sleep(0.2)", duration_s=1000)
    command = [sys.executable, "-m", "mobilenet", "run", "scenario.yaml", "--allow-code", "--out", "run"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    assert wait_until(lambda: len(alive(tmp_path)) >= 4)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert wait_until(lambda: not alive(tmp_path))
    assert not (tmp_path / "run").exists()


def test_a_flood_on_standard_error_is_cut(tmp_path: Path) -> None:
    code = "sys.stderr.write('x' * 1_000_000 if e['ev'] == 'broadcast' else '')"
    done = play(answering(tmp_path, code))
    kept = list(done.path.glob("*.stderr.txt"))
    assert kept and all(path.stat().st_size == 65_536 for path in kept)
    assert set(done.manifest["files"]) >= {path.name for path in kept}


def test_a_program_that_writes_before_it_reads_does_not_block(tmp_path: Path) -> None:
    """The output of the program and its next input both exceed the capacity of a pipe."""
    code = """print('{"do":"log","text":"' + 'x' * 900_000 + '"}') if e['ev'] == 'broadcast' else 0"""
    done = play(answering(tmp_path, code), overrides={"record.programs": True})
    lines = done.lines
    actions = [json.loads(line) for line in lines["line"][lines["said"]]]
    assert any(len(action.get("text", "")) == 900_000 for action in actions)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_program_that_attacks_its_supervisor_is_killed(number: int, tmp_path: Path) -> None:
    code = f"open(f'pid-{{os.getpid()}}', 'w').close(); os.kill(os.getppid(), {int(number)}); time.sleep(60)"
    began = time.monotonic()
    with pytest.raises(PluginError, match=r"[hs]0: no answer within 1 s|killed or stopped from outside"):
        play(answering(tmp_path, code, answer_within_s=1.0))
    assert time.monotonic() - began < 55  # The program would sleep for 60 s.
    for mark in tmp_path.glob("pid-*"):
        assert wait_until(lambda mark=mark: has_ended(int(mark.name.removeprefix("pid-"))))  # type: ignore[misc]


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="looking gives the number back")
@pytest.mark.parametrize("words", ["ended with exit code 3", "was killed by signal 9"])
def test_the_pid_of_an_ended_program_is_not_reused_too_early(words: str, tmp_path: Path) -> None:
    """The process ID stays reserved until the process group is killed. Otherwise the kill could hit another process."""
    code = "import os, signal; " + ("os._exit(3)" if "code" in words else "os.kill(os.getpid(), signal.SIGKILL)")
    children = Children(tmp_path)
    try:
        child = children.spawn("h0", [sys.executable, "-c", code])
        assert wait_until(lambda: children.reap() == [child])
        assert children.how_it_ended(child) == words
        assert children.reap() == [child]
        os.kill(child.pid, 0)  # The process ID still exists.
        children.kill(child)
        with pytest.raises(ProcessLookupError):
            os.kill(child.pid, 0)
    finally:
        children.close()


def test_a_stopped_supervisor_is_resumed(tmp_path: Path) -> None:
    children = Children(tmp_path)
    try:
        child = children.spawn("h0", [sys.executable, "-c", "import os, signal; os.kill(os.getppid(), signal.SIGSTOP)"])
        os.read(child.back, 1)  # waits until the program has ended
        began = time.monotonic()
        assert children.failure(child) is None
        assert time.monotonic() - began < 10  # Without the signal, the supervisor would not answer within 12 s.
    finally:
        children.close()
