"""Measure the speed of broadcasts over VCube at the scale of the papers, relative to a bare event queue.

Model     Each case is one run with 1 024 processes in a separate process, as in the benchmark of the simulator. The
          run with the median result counts. The baseline takes turns with each run. Deliveries are recorded, as in
          any run, but buffers are not.
Cases     bundling: every process broadcasts at 0, without bundling (NO-AGGR), without faults and without a detector:
          2 095 104 messages. causal_plain and causal: one message each, 1 047 552 packets without aggregation.
Units     Messages (packets) per CPU second. `share` is this number divided by the events per CPU second of the
          baseline. For `causal`, the messages that the packets carry over links are counted, N(N - 1), because
          aggregation saves packets but not messages.
Errors    RuntimeError if a case fails.
Source    ours: docs/protocols/vcube.md
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mobilenet.lab.bench.baseline import Baseline
from mobilenet.lab.bench.row import Column, Head, tell
from mobilenet.lab.bench.simulator import middle
from mobilenet.lab.package_files import SCENARIOS

PROCESSES = 1024


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    scenario: str
    changes: tuple[str, ...]
    target: float  # minimum speed, as a fraction of the baseline's speed


CASES = (
    Case("bundling", "bundling.yaml", ("detector=null", "protocol={name: best_effort}"), 0.25),
    Case("causal_plain", "causal.yaml", ("protocol.aggregate=false",), 0.125),
    Case("causal", "causal.yaml", (), 0.125),
)


COLUMNS = (
    Column("case", "broadcast"),
    Column("processes", "processes"),
    Column("messages_per_cpu_s", "messages per CPU s", ",.0f"),
    Column("queue_events_per_s", "bare queue, events/s", ",.0f"),
    Column("share", "share of it", ".3f"),
    Column("target", "at least", "g"),
    Column("passed", ""),
)


@dataclass(frozen=True, slots=True)
class Row(Head):
    """The cost of one case of broadcasts."""

    processes: int
    messages: int
    cpu_s: float
    messages_per_cpu_s: float
    queue_events_per_s: float
    share: float
    target: float
    passed: bool


def measure(repeat: int) -> Iterator[Row]:
    """Measure all cases one after the other, and yield a row for each."""
    for case in CASES:
        run = middle("mobilenet.lab.bench.broadcasts", case.name, repeat)
        speed = run["messages"] / run["cpu_s"]
        share = speed / run["baseline"]
        yield Row.now(
            case.name, PROCESSES,
            int(run["messages"]), round(run["cpu_s"], 3), round(speed), round(run["baseline"]),
            round(share, 4), case.target, share >= case.target,
        )  # fmt: skip


def once(case: Case) -> dict[str, float]:
    """Run a case in this process, and return its measurements."""
    from mobilenet.scenario import ProcessScenario
    from mobilenet.simulation.processes.experiment import Experiment

    changes = (f"processes={PROCESSES}", "record.buffers=false", *case.changes)
    scenario = ProcessScenario.load(SCENARIOS / "vcube" / case.scenario, changes)
    baseline = Baseline()
    baseline.begin()
    outcome = Experiment(scenario).run(baseline.look)
    baseline.end()
    sent = outcome.recording.counters["messages"]
    carried = sent.get("packets_by_messages")
    messages = sent["sent"] if carried is None else sum(int(size) * count for size, count in carried.items())
    return {"cpu_s": baseline.cpu_s, "messages": messages, "baseline": baseline.events_per_s}


if __name__ == "__main__":
    tell(once, CASES)
