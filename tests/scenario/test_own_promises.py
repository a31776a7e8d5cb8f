"""Tests of the promises that a plug-in makes besides its delivery order. The plug-in's own code judges them, but only
with permission, and no promise is skipped.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import mobilenet
from mobilenet.api import judge_anew
from mobilenet.lab.hunt.swarm.campaign import judge_seed
from mobilenet.parameters import ScenarioError
from mobilenet.verify import Evidence
from mobilenet.verify.judge import NEEDS_CODE, checks_of, read_run
from tests.cli.command import mobilenet as command
from tests.conftest import ROOT

from .examples import FOLDER, edit

PROMPT = "own_promise/prompt"
QUIET = "(type('Quiet', (), {'__repr__': exit})(),)"
BODY = "    late = [one for one in run.deliveries() if one.delay_s > 0.05]\n"
BROKEN = "prompt_delivery violated: h0 delivers h4:0 only after 0.058 s"


@pytest.mark.lab
def test_the_guide_shows_the_promise_example_and_its_output(tmp_path: Path) -> None:
    guide, source = (ROOT / "docs/guide/plug-ins.md").read_text(), (FOLDER / f"{PROMPT}.py").read_text()
    assert source[source.index("@promise") :] in guide and len(source.splitlines()) < 40
    run = command("run", FOLDER / f"{PROMPT}.yaml", "--allow-code", "--out", "run", place=tmp_path)
    assert run.returncode == 1 and BROKEN in run.stdout and f"\n{BROKEN}\n" in guide
    assert command("show", "run", place=tmp_path).stdout.count(BROKEN) == 1
    assert command("report", "run", place=tmp_path).returncode == 0
    assert "each delivery comes at most 50 ms after" in (tmp_path / "run/report.html").read_text(encoding="utf-8")


def test_promise_code_runs_during_verify_only_if_allowed(tmp_path: Path) -> None:
    run = mobilenet.run(FOLDER / f"{PROMPT}.yaml", out=tmp_path / "run", allow_code=True)
    assert run.verdicts["prompt_delivery"].answer == "violated"
    verdicts, notes, wrong = judge_anew(run.path)
    assert verdicts == {**run.verdicts, "prompt_delivery": NEEDS_CODE} and notes == wrong == []
    judged = command("verify", "run", place=tmp_path)
    assert judged.returncode == 4 and f"prompt_delivery unknown: {NEEDS_CODE.explanation}" in judged.stdout
    judged = command("verify", "run", "--allow-code", "--repeat", place=tmp_path)
    assert judged.returncode == 1 and BROKEN in judged.stdout and "the two records are the same" in judged.stdout
    (run.path / "metrics.json").write_text((run.path / "metrics.json").read_text().replace(": ", ": 1", 1))
    judged = command("verify", "run", "--allow-code", "--repeat", place=tmp_path)  # the output reports both problems
    assert judged.returncode == 1 and BROKEN in judged.stdout and "metrics.json: window_s: 120, but" in judged.stdout
    (run.path / "prompt.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    command("verify", "run", place=tmp_path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("return 1 / 0", "prompt.py:34: ZeroDivisionError: division by zero"),
        ("raise SystemExit(0)", "prompt.py:34: SystemExit: 0"),
        ("raise BaseException('odd')", "prompt.py:34: BaseException: odd"),
        ("return 3", "prompt.py:32: ValueError: returned 3, expected a sentence or None"),
        ("return ''", "prompt.py:32: ValueError: explanation: got '', expected a sentence"),
        ("from mobilenet.verify import Verdict; return Verdict('unknown', '')", "prompt.py:34: ValueError: explanat"),
        ("from mobilenet.verify import Verdict; return Verdict('violated', None)", "prompt.py:34: ValueError: explana"),
        ("from mobilenet.verify import Verdict; return Verdict('unknown', 'too short')", "too short"),
        ("run.manifest.clear(); return None", ""),
    ],
)
def test_a_malformed_answer_of_a_promise_makes_it_unknown(body: str, complaint: str, tmp_path: Path) -> None:
    scenario = edit(tmp_path, PROMPT, BODY, f"    {body}\n")
    run = mobilenet.run(scenario, out=tmp_path / "run", allow_code=True)
    verdict = run.verdicts["prompt_delivery"]
    assert verdict.answer == ("unknown" if complaint else "valid") and verdict.explanation.startswith(complaint)
    judged = command("verify", "run", "--allow-code", place=tmp_path)
    assert complaint in judged.stdout and "Traceback" not in judged.stdout + judged.stderr


def test_a_long_explanation_of_a_promise_is_shortened_once(tmp_path: Path) -> None:
    run = mobilenet.run(edit(tmp_path, PROMPT, BODY, "    return 'x' * 3000\n"), out=tmp_path / "run", allow_code=True)
    assert len(run.verdicts["prompt_delivery"].explanation) <= 1000
    assert judge_anew(run.path)[1:] == judge_anew(run.path, True)[1:] == ([], [])


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("(prompt_delivery,)", "prompt_delivery", "expected a tuple of functions decorated with @promise(words)"),
        ("(prompt_delivery,)", "(len,)", "expected a tuple of functions decorated with @promise(words)"),
        ("(prompt_delivery,)", QUIET, "checks is a value of the class tuple whose repr() fails, expected"),
        ("prompt_delivery", "drained", "there is already a property drained; expected another name in checks"),
        ("(prompt_delivery,)", "(prompt_delivery,) * 2", "there is already a property prompt_delivery"),
    ],
)
def test_a_malformed_promise_is_rejected_before_the_run(old: str, new: str, complaint: str, tmp_path: Path) -> None:
    scenario = edit(tmp_path, PROMPT, old, new)
    code = tmp_path / "prompt.py"
    code.write_text(code.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        mobilenet.run(scenario, out=tmp_path / "run", allow_code=True)
    assert complaint in str(caught.value) and "\n" not in str(caught.value) and not (tmp_path / "run").exists()


def test_a_custom_promise_is_unknown_if_the_run_fails(tmp_path: Path) -> None:
    scenario = edit(tmp_path, PROMPT, "        self.port.broadcast(parcel)", "        1 / 0")
    with pytest.raises(ScenarioError, match="ZeroDivisionError"):
        mobilenet.run(scenario, out=tmp_path / "run", allow_code=True)
    assert mobilenet.load(tmp_path / "run").verdicts["prompt_delivery"].answer == "unknown"


@pytest.mark.parametrize("seed", [1, 2])
def test_the_swarm_judges_custom_promises_on_both_networks(seed: int, tmp_path: Path) -> None:
    result = judge_seed(seed, tmp_path, protocol=f"{FOLDER / PROMPT}.py:Prompt")
    assert result.answer == "violated" and "prompt_delivery: " in result.explanation
    kept = tmp_path / f"swarm-s{seed}"
    assert judge_anew(kept, True)[0] == mobilenet.load(kept).verdicts


SILENT = """    checks = ()


@promise("nothing is sent")
def silence(run):
    return f"{run.counters['messages']['sent']} messages are sent"


Ring.checks = (silence,)
"""


def test_process_broadcasts_can_declare_custom_promises(tmp_path: Path) -> None:
    ring = edit(
        tmp_path, "own_protocol/ring", "from dataclasses", "from mobilenet.verify import promise\nfrom dataclasses"
    )
    code = tmp_path / "ring.py"
    code.write_text(code.read_text(encoding="utf-8") + SILENT, encoding="utf-8")
    verdict = mobilenet.run(ring, out=tmp_path / "run", allow_code=True).verdicts["silence"]
    assert verdict.answer == "violated" and verdict.explanation.endswith(" messages are sent")


RUNS: dict[str, tuple[str, ...]] = {
    "first.yaml": ("record.frames=true",),
    "own_protocol/gossip.yaml": ("duration_s=5",),
    "own_protocol/ring.yaml": (),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_promise_reads_only_the_tables_that_it_declares(name: str, tmp_path: Path) -> None:
    run = mobilenet.run(FOLDER / name, out=tmp_path / "run", overrides=RUNS[name], allow_code=True)
    known = read_run(run.path)
    others = known.counters, known.manifest, known.expected, known.captures
    for check in checks_of(known):
        tables = {table: rows for table, rows in known.tables.items() if table in check.tables}
        whole, part = (Evidence(one, *others, frozenset({check.property})) for one in (known.tables, tables))
        assert not check.applies(part) or check.answer(part) == check.answer(whole)
