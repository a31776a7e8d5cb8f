"""The command that runs programs in real time, on UDP or on IP.

Source    ours: docs/guide/real-time.md
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer

from mobilenet.cli.console import Exit, fail, reporting, say
from mobilenet.cli.node_shell import enter, require_shell, shell_of
from mobilenet.cli.options import AllowCode, Force, NewRun, Overrides, Quiet, Seed
from mobilenet.cli.progress import progress
from mobilenet.cli.run import end_with_verdicts, offering_force, stopped_in_words
from mobilenet.quoting import format_number, pluralize


def serve(
    words: Annotated[
        list[str], typer.Argument(metavar="SCENARIO", help="A scenario file (YAML); with --exec, the command to run.")
    ] = [],  # noqa: B006
    seed: Seed = None,
    out: NewRun = None,
    overrides: Overrides = None,
    hard_limit_ms: Annotated[
        float | None,
        typer.Option("--hard-limit-ms", min=0.1, metavar="MS", help="Lateness that ends the run with exit code 3."),
    ] = None,
    shell: Annotated[
        str | None,
        typer.Option("--shell", metavar="NODE", help="Open a shell in this node, such as h3, on this terminal."),
    ] = None,
    join: Annotated[
        Path | None,
        typer.Option(
            "--join",
            metavar="RUN",
            help="Directory of a run in progress; with --shell or --exec, enter one of its nodes.",
        ),
    ] = None,
    exec_in: Annotated[
        str | None, typer.Option("--exec", metavar="NODE", help="Run the command after -- in this node of the run.")
    ] = None,
    allow_code: AllowCode = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Run real programs on the network in real time."""
    with reporting(quiet):
        if join is not None:
            raise typer.Exit(enter(join, shell, exec_in, words))
        if exec_in is not None or len(words) != 1:
            fail("expected SCENARIO, or --join RUN with --shell NODE, or with --exec NODE -- COMMAND", Exit.BAD_INPUT)
        scenario = Path(words[0])
        from mobilenet import api
        from mobilenet.scenario import load_scenario
        from mobilenet.scenario.loader import as_options
        from mobilenet.simulation.parties import RealTime

        stop_reasons: list[str] = []
        protocol = load_scenario(scenario, overrides or []).protocol
        begins = partial(_say_addresses, protocol)
        require_shell(protocol, shell)
        _take_ctrl_c(stop_reasons)
        with (
            progress(quiet or shell is not None, scenario.stem) as update,
            offering_force(),
            shell_of(shell, stop_reasons) as terminal,
        ):
            result = api.run(
                scenario, None, out, as_options(overrides, seed), update, allow_code, replace=force,
                real_time=RealTime(hard_limit_ms, lambda: stop_reasons[0] if stop_reasons else "", begins, terminal),
            )  # fmt: skip
        say(_summary(result))
        end_with_verdicts(result)


def _take_ctrl_c(stop_reasons: list[str]) -> None:
    """Let the first Ctrl-C end the run and write its record. A second Ctrl-C ends the command at once."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        return

    def stop(number: int, frame: FrameType | None) -> None:
        stop_reasons.append("Ctrl-C")
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, stop)


def _say_addresses(protocol: Any) -> None:
    """Print the addresses at which programs reach each other, for users who start the programs themselves."""
    network = getattr(protocol, "prefix", None)
    if network is None or protocol.command is not None:
        return
    where = "on the port from which it sends" if protocol.own_port is None else f"on port {protocol.own_port}"
    say(
        f"Start your programs now: host A sends to host B at {network}.{'B' if protocol.flat else 'A'}.B, port"
        f" {protocol.port}, over UDP, and receives at {network}.A.A, {where}. Host 0 sends to host 1 at"
        f" {network}.{1 if protocol.flat else 0}.1:{protocol.port}"
    )


UNDELIVERED = (  # counts of undelivered datagrams -> their meaning
    ("datagrams_from_outside", "dropped because they were sent from outside 127.0.0.0/8"),
    ("datagrams_misaddressed", "dropped because they were sent to an address that no other host has"),
    (
        "datagrams_unidentified",
        "dropped because they were sent from sockets that are not bound to a host's own address",
    ),
    (
        "datagrams_not_taken",
        "not received because no program had a socket open, or because the socket's buffer was full",
    ),
    ("datagrams_too_long", "dropped because they were too long for a frame"),
)
REFUSED = (  # counts of a node's refused packets -> their meaning
    ("packets_malformed", "dropped because they were not IPv4 packets"),
    ("packets_misaddressed", "dropped because no node has the address to which they were sent"),
    ("packets_spoofed", "dropped because they were not sent from the node's own address"),
)


def _summary(result: Any) -> str:
    m, facts = result.metrics, result.manifest["real_time"]
    late = {"p50": 0.0, "p99": 0.0, "max": 0.0, **facts["lateness_ms"]}
    end_s = min(result.manifest["duration_s"], result.manifest["simulated_s"])
    since_s = min(result.manifest["warmup_s"], end_s)
    lines = [
        f"{result.manifest['simulated_s']:g} s in real time; lateness p50 {late['p50']:g} ms, p99 {late['p99']:g} ms,"
        f" maximum {late['max']:g} ms",
        f"from {since_s:g} to {end_s:g} s: {pluralize(m['datagrams'], 'datagram')},"
        f" {format_number(m['datagrams_received'])} received, mean delay"
        f" {format_number(m['datagram_delay_mean_s'])} s; {pluralize(m['broadcasts'], 'broadcast')},"
        f" {pluralize(m['deliveries'], 'delivery')}, {pluralize(m['crashes'], 'crash')}",
        *(
            f"in the whole run: {pluralize(facts[key], 'datagram')} {what}"
            for key, what in UNDELIVERED
            if facts.get(key)
        ),
        *(
            f"in the whole run: {pluralize(count, 'packet')} from {name} {what}"
            for key, what in REFUSED
            for name, count in facts.get(key, {}).items()
        ),
        *_remarks(facts),
        f"verdict: {result.answer}",
    ]
    return "\n".join(lines)


def _remarks(facts: dict[str, Any]) -> Iterator[str]:
    """Yield remarks about settings that users may want to change."""
    for sender, pair in facts.get("senders_renamed", ()):
        yield f"{sender} sent from its own address to addresses of {pair}; these datagrams were attributed to {sender}"
    if facts.get("senders_renamed"):
        yield "programs that pass on addresses may need protocol.flat: true"
    if stopped := stopped_in_words(facts):
        yield stopped
    for path in facts["logs_that_never_were"]:
        yield f"{path}: this log file was never created, so its lines are unknown"
    for name in facts["outputs_cut"]:
        yield f"{name}: only the first part of its standard output was read (protocol.limits.output_mb)"
    if two := facts.get("claimed_twice"):
        yield (
            f"several programs sent datagrams as {', '.join(two)}; expected one program for each host,"
            " or protocol.own_port"
        )
    if hosts := facts.get("asked_for_tcp"):
        yield f"hosts whose TCP connections were refused: {', '.join(hosts)}"
