"""The command that tests protocols and the simulator with many hostile schedules."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections import Counter
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from mobilenet.cli.console import LONGEST_LINE, Exit, fail, reporting, say
from mobilenet.cli.options import AllowCode
from mobilenet.cli.progress import counting
from mobilenet.protocols.names import AMONG_PROCESSES, DEFAULT, ON_THE_RADIO, SELECTIVE, Backbone
from mobilenet.quoting import cut, pluralize, quote


class Promises(Enum):
    CAUSAL = "causal"
    FIFO = "fifo"
    BEST_EFFORT = "best_effort"


class Model(Enum):
    UNIT_DISK = "unit_disk"
    SINR = "sinr"


class Mac(Enum):
    DCF = "dcf"
    ACKING = "acking"


def swarm(
    count: Annotated[int, typer.Option("--count", min=1, help="Number of schedules.")] = 100,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the first schedule.")] = 1,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Number of worker processes.")] = os.cpu_count() or 1,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Directory for runs that are not valid.")
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            metavar="NAME|FILE.py:CLASS",
            help=f"Protocol to test: {', '.join((*ON_THE_RADIO, SELECTIVE, *AMONG_PROCESSES))}, or a plug-in.",
        ),
    ] = DEFAULT,
    command: Annotated[
        str | None,
        typer.Option(
            "--command", metavar="WORDS", help="Command that runs each node, to test programs instead of a protocol."
        ),
    ] = None,
    station_command: Annotated[
        str | None,
        typer.Option(
            "--station-command", metavar="WORDS", help="Command that runs each station, if different from --command."
        ),
    ] = None,
    promises: Annotated[
        Promises | None,
        typer.Option(
            "--promises", help="Ordering that the programs promise: causal, fifo or best_effort [default: causal]."
        ),
    ] = None,
    backbone: Annotated[
        Backbone | None, typer.Option("--backbone", help=f"Backbone between the stations; only with {DEFAULT}.")
    ] = None,
    mac: Annotated[Mac | None, typer.Option("--mac", help="MAC protocol [default: dcf].")] = None,
    radio: Annotated[Model | None, typer.Option("--radio", help="Reception model [default: unit_disk].")] = None,
    allow_code: AllowCode = False,
) -> None:
    """Check many small, random, hostile scenarios.

    Mobile protocols run without a radio for even seeds and on the radio for odd seeds; with another MAC or radio
    model, all seeds run on the radio. Broadcasts over VCube are tested with processes that crash while sending,
    with false suspicions, and with links that reorder messages, as far as the protocol tolerates them. A plug-in
    runs on the same networks as built-in protocols of its kind. A single schedule is explained in full.
    """
    with reporting():
        if command is not None:
            if protocol != DEFAULT:
                fail(f"--protocol {protocol}: specify either --protocol or --command, not both", Exit.BAD_INPUT)
            protocol = _programs(command, station_command or command, (promises or Promises.CAUSAL).value)
        _require_consistent_options(command, station_command, promises, backbone, protocol, allow_code)
        _require_radio(seed, protocol, mac, radio)
        others: dict[str, Any] = {"backbone": backbone.value} if backbone is not None else {}
        if protocol != DEFAULT:
            others["protocol"] = protocol
        if mac is Mac.ACKING or radio is Model.SINR:
            others["radio"] = "sinr" if radio is Model.SINR else "acking"
        _play(count, seed, workers, keep, others)


def _require_consistent_options(
    command: str | None,
    station_command: str | None,
    promises: Promises | None,
    backbone: Backbone | None,
    protocol: str,
    allow_code: bool,
) -> None:
    if command is None:
        for option, value in (("--station-command", station_command), ("--promises", promises)):
            if value is not None:
                fail(f"{option}: applies only to programs; specify --command as well", Exit.BAD_INPUT)
    _require_a_protocol(protocol, allow_code)
    if backbone is not None and protocol != DEFAULT:
        other = protocol if command is None else "a program"
        fail(f"--backbone {backbone.value}: applies only to {DEFAULT}, not to {other}", Exit.BAD_INPUT)


def _require_radio(seed: int, protocol: str, mac: Mac | None, radio: Model | None) -> None:
    from mobilenet.lab.hunt.swarm.campaign import network_of

    for option, value in (("--mac", mac), ("--radio", radio)):
        if value is not None and network_of(seed, protocol) == "processes":
            fail(
                f"{option} {value.value}: {protocol} is a broadcast among processes, which have no radio",
                Exit.BAD_INPUT,
            )
    if mac is Mac.ACKING and radio is Model.SINR:
        fail("--mac acking: works only with --radio unit_disk, because sinr uses the rates of 802.11", Exit.BAD_INPUT)


def _play(count: int, seed: int, workers: int, keep: Path | None, others: dict[str, Any]) -> NoReturn:
    """Run and judge the schedules, print those that are not valid, and exit."""
    from mobilenet.lab.hunt.swarm.campaign import ENDED_BY_ERROR, Result, again, run_campaign
    from mobilenet.lab.hunt.swarm.plug_ins import is_plug_in

    started, violated = time.perf_counter(), list[Result]()
    tally, event_counts = Counter[str](), Counter[str]()
    with counting(count) as advance:
        for result in run_campaign(range(seed, seed + count), workers, keep, **others):
            advance()
            tally[result.answer] += 1
            event_counts.update(getattr(result, "happened", {}))
            which, explanation = f"schedule {result.seed} ({result.network})", cut(result.explanation, LONGEST_LINE)
            if result.answer == "violated":
                violated.append(result)
                first = explanation.partition("\n")[0].removesuffix(":")
                say(f"{which} violated:\n{explanation}" if count == 1 else f"{which} violated: {first}")
                say(f"Repeat: {again(result.seed, 1, **others)} --keep {quote(keep or Path('runs'))}")
            elif result.answer == ENDED_BY_ERROR:
                say(f"{which} ended with an error: {explanation}")
                say(f"Repeat: {again(result.seed, 1, **others)}")
            elif result.answer == "unknown":
                say(f"{which} unknown: {explanation.splitlines()[0]}")
    parts = ", ".join(f"{number} {answer}" for answer, number in sorted(tally.items()))
    say(f"{pluralize(count, 'schedule')} in {time.perf_counter() - started:.0f} s: {parts}")
    if event_counts:
        say(
            "Events per schedule, on average: "
            + ", ".join(f"{event} {number / count:.1f}" for event, number in sorted(event_counts.items()))
        )
    keep_option = f" --keep {quote(keep)}" if keep is not None else ""
    # schedules of the adversary come last, because they cannot be shrunk
    violated.sort(key=lambda result: result.network == "adversary")
    if violated and keep is not None and violated[0].network != "adversary":
        code = " --allow-code" if is_plug_in(others.get("protocol", DEFAULT)) else ""
        say(f"Next: mobilenet shrink {quote(keep / f'swarm-s{violated[0].seed}')}{code}")
    elif violated and count > 1:
        say(f"Next: {again(violated[0].seed, 1, **others)} --keep {quote(keep or Path('runs'))}")
    else:
        say(f"Next: {again(seed + count, count, **others)}{keep_option}")
    if violated:
        raise typer.Exit(Exit.VIOLATED)
    # If a plug-in raised an error, exit with the same code as a single run would.
    raise typer.Exit(Exit.BAD_INPUT if tally[ENDED_BY_ERROR] else Exit.FINE)


def _programs(command: str, station_command: str, promises: str) -> str:
    """Return the protocol name that the swarm uses for these programs."""
    words = {}
    for option, role, text in (("--command", "host", command), ("--station-command", "station", station_command)):
        try:
            words[role] = shlex.split(text)
        except ValueError as error:
            fail(f"{option} {text}: {error}; expected a command line in shell syntax", Exit.BAD_INPUT)
        if not words[role]:
            fail(f"{option}: empty; expected a program and its arguments", Exit.BAD_INPUT)
    return json.dumps({"command": words, "promises": promises})


def _require_a_protocol(protocol: str, allow_code: bool) -> None:
    """Exit with an error unless `protocol` names a built-in protocol, or the class of a plug-in whose code may run."""
    from mobilenet.lab.hunt.swarm.plug_ins import is_plug_in, plug_in_kind, scene_of
    from mobilenet.simulation.plugin_code import require_allowed

    known = (*ON_THE_RADIO, SELECTIVE, *AMONG_PROCESSES)
    if is_plug_in(protocol):
        require_allowed(scene_of(1, protocol), allow_code)
        plug_in_kind(protocol)  # raises an error unless the class is a protocol
    elif protocol not in known:
        fail(f"--protocol {protocol}: expected one of {', '.join(known)}, or FILE.py:CLASS", Exit.BAD_INPUT)
