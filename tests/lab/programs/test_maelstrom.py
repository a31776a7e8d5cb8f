"""Tests that run unmodified broadcast nodes for Maelstrom as processes."""

from pathlib import Path
from typing import Any

import pytest

from mobilenet.api import Run, run
from mobilenet.lab.programs import run_programs
from mobilenet.simulation.plugin_code import PluginError
from tests.lab.programs.own import of_node

ANSWER = 'answer["messages"] = values'


def play(samples: Path, out: Path, change: tuple[str, str] = ("", "")) -> Run:
    node = (samples / "maelstrom_node.py").read_text()
    assert change[0] in node
    return of_node(samples, out, node.replace(*change))


@pytest.mark.parametrize("topology", ["line", "all"])
def test_maelstrom_nodes_deliver_every_message_to_every_process(topology: str, samples: Path, tmp_path: Path) -> None:
    done = run(
        samples / "maelstrom.yaml", out=tmp_path / "run", allow_code=True,
        overrides=[f"protocol.settings.topology={topology}", "processes=5", "workload.sources=5"],
    )  # fmt: skip
    assert done.verdict == "valid" and done.metrics["deliveries"] == 5 * 5 * 5
    assert done.metrics["messages"] == 25 * (4 if topology == "line" else 16)


def test_mistakes_of_maelstrom_nodes_are_found(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_programs, "LISTENS_S", 0.5)
    invented = ("values.append(body", "values.append(7_000_999); values.append(body")
    assert play(samples, tmp_path / "invents", invented).verdicts["creation"].answer == "violated"
    forgetful = ("for neighbour in neighbours:", "for neighbour in neighbours[:1]:")
    assert play(samples, tmp_path / "forgets", forgetful).verdicts["agreement"].answer == "violated"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ((ANSWER, "print('{\"src\"')"), r"the node wrote '\{\"src\"', expected a message"),
        ((ANSWER, 'answer["messages"] = ["a"]'), "expected a list of whole numbers"),
        ((ANSWER, "pass"), "expected a list of whole numbers"),
        ((ANSWER, 'answer["type"] = "error"'), "the node answers read with an error"),
        ((ANSWER, "sys.stdout.buffer.write(b'\\xff{}\\n'); sys.stdout.flush()"), r"bytes that are not UTF-8 in '\\xff"),
        ((ANSWER, r"""print('{"dest":"n1","body":{"type":"a","x":"\\ud800"}}')"""), "half a character"),
        ((ANSWER, 'print(\'{"dest":"n1","body":{"type":"a","x":NaN}}\')'), "NaN is not JSON"),
        ((ANSWER, 'print(\'{"dest":"n1","body":{"type":"a","x":1e999}}\')'), "Out of range float values are not JSON"),
        (('"dest": neighbour,', '"dest": "n99",'), "the node wrote .*n99.*, expected a message"),
        (('"dest": neighbour,', '"dest": "zz",'), r"expected a message to a node \(n0 to n\d\) or a client \(c1\)"),
        (('"dest": neighbour,', '"dest": 3,'), "expected a message of Maelstrom with dest, body"),
        ((ANSWER, "sys.exit(5)"), "the node has ended with exit code 5"),
    ],
)
def test_a_failed_maelstrom_node_is_reported_with_its_command(
    change: tuple[str, str], complaint: str, samples: Path, tmp_path: Path
) -> None:
    expected = rf"^p\d: its program ended with exit code 1; .*python3 bad\.py: .*{complaint}"
    with pytest.raises(PluginError, match=expected) as caught:
        play(samples, tmp_path / "bad", change)
    assert "\n" not in str(caught.value) and "Traceback" not in str(caught.value)
    left = [file for file in (tmp_path / "bad").glob("*.stderr.txt") if "Traceback" in file.read_text()]
    assert not left


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ('"true"', "true: the node has ended with exit code 0"),
        ("no-such-node", "no-such-node: the node cannot be started: No such file or directory"),
        ("./maelstrom.yaml", "./maelstrom.yaml: the node cannot be started: Permission denied"),
        ("", "the command of the node is missing; expected it after maelstrom.py"),
    ],
)
def test_a_maelstrom_start_failure_is_reported_in_one_line(
    words: str, complaint: str, samples: Path, tmp_path: Path
) -> None:
    command = ", ".join(filter(None, ["python3", "maelstrom.py", words]))
    with pytest.raises(PluginError) as caught:
        run(
            samples / "maelstrom.yaml", out=tmp_path / "run", allow_code=True,
            overrides=[f"protocol.command=[{command}]"],
        )  # fmt: skip
    assert complaint in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.long
def test_a_grow_only_set_is_judged_like_a_broadcast(samples: Path, tmp_path: Path) -> None:
    """The nodes add elements to the set, and know the names of all nodes from the start."""
    node = (samples / "maelstrom_node.py").read_text()
    for old, new in (
        ('me = body["node_id"]', 'me = body["node_id"]; neighbours = [n for n in body["node_ids"] if n != me]'),
        ('answer["messages"] = values', 'answer["value"] = values'),
        ('in ("broadcast", "gossip") and body["message"] not in', 'in ("add", "gossip") and body["element"] not in'),
        ('values.append(body["message"])', 'values.append(body["element"])'),
        ('"message": body["message"]', '"element": body["element"]'),
    ):
        assert old in node
        node = node.replace(old, new)
    changes = {"protocol.settings": {"workload": "g-set"}, "workload.sources": 4, "processes": 4}
    sound = of_node(samples, tmp_path / "g_set", node, **changes)
    forgetful = node.replace("for neighbour in neighbours:", "for neighbour in ():")
    bug = of_node(samples, tmp_path / "bug", forgetful, **changes)
    assert (sound.verdicts["agreement"].answer, bug.verdicts["agreement"].answer) == ("valid", "violated")
    with pytest.raises(
        PluginError, match=r"settings\.workload is 'kafka', expected one of broadcast, g-set, pn-counter"
    ):
        run(samples / "maelstrom.yaml", out=tmp_path / "no", allow_code=True,
            overrides=["protocol.settings.workload=kafka"])  # fmt: skip


COUNTER = """
import json, sys
totals = {}
for line in sys.stdin:
    request = json.loads(line)
    body = request["body"]
    answer = {"type": body["type"] + "_ok", "in_reply_to": body.get("msg_id")}
    if body["type"] == "init":
        me, others = body["node_id"], [n for n in body["node_ids"] if n != body["node_id"]]
    elif body["type"] == "add":
        totals[me] = totals.get(me, 0) + body["delta"]
        for other in others:
            print(json.dumps({"src": me, "dest": other, "body": {"type": "total", "total": totals[me]}}))
    elif body["type"] == "total":
        totals[request["src"]] = body["total"]
        continue
    elif body["type"] == "read":
        answer["value"] = sum(totals.values())
    print(json.dumps({"src": me, "dest": request["src"], "body": answer}), flush=True)
"""


def count_with(samples: Path, out: Path, old: str, new: str, messages: int = 5) -> Run:
    assert old in COUNTER
    changes: dict[str, Any] = {"processes": 4, "workload.sources": 4, "workload.messages": messages}
    changes["protocol.settings"] = {"workload": "pn-counter"}
    return of_node(samples, out, COUNTER.replace(old, new), **changes)


def test_the_counter_value_reveals_which_messages_were_counted(samples: Path, tmp_path: Path) -> None:
    done = count_with(samples, tmp_path / "sound", "", "")
    assert done.verdict == "valid" and done.metrics["deliveries"] == 4 * 4 * 5


@pytest.mark.parametrize(
    ("name", "old", "new", "check"),
    [
        ("forgets", "for other in others", "for other in others[1:]", "agreement"),
        ("twice", 'totals[request["src"]] = body', 'totals[request["src"]] = 2 * body', "duplication"),
        ("sign", 'totals[request["src"]] = body', 'totals[request["src"]] = -body', "creation"),
    ],
)
def test_an_incorrect_counter_implementation_is_detected(
    name: str, old: str, new: str, check: str, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_programs, "LISTENS_S", 0.5)
    assert count_with(samples, tmp_path / name, old, new).verdicts[check].answer == "violated"


def test_a_pn_counter_rejects_more_messages_than_it_can_encode(samples: Path, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="a pn-counter shows at most 22 messages apart, expected fewer"):
        count_with(samples, tmp_path / "many", "", "", 6)
    with pytest.raises(PluginError, match="the node answers read with x, expected a whole number as value"):
        count_with(samples, tmp_path / "text", "sum(totals.values())", "'x'")
