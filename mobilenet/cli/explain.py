"""Where a file comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mobilenet.cli.console import Exit, fail, reporting, say
from mobilenet.cli.options import AsJson
from mobilenet.quoting import counted, quoted

if TYPE_CHECKING:
    from mobilenet.rundir.stamp import Inputs, Provenance

PLACES = ("STUDY", "FILE", "RUN")  # the words of a command in normal form that stand for what a file was made from


def explain(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that mobilenet wrote.")],
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="RUN|STUDY", help="What the file was made from; by default the directory around it."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print where a file comes from.

    The command prints the version, the scenario, the runs and the command that made the file, and how to make it
    again. If the directory around it is not the one that it was made from, the exit code is 1.
    """
    with reporting(quiet=as_json, reads=[file]):
        from mobilenet.rundir.provenance import carried, run_or_study_around

        if not file.is_file():
            fail(f"{quoted(file)}: no such file", Exit.BAD_INPUT)
        place, there = run_or_study_around(file if source is None else source)
        if source is not None and place is None:
            fail(f"--from {quoted(source)}: expected the directory of a run or of a study", Exit.BAD_INPUT)
        found = carried(file)
        if found is None and there is None:
            fail(
                f"{quoted(file)}: contains no provenance, and is not inside a run or study directory; expected a file"
                " that mobilenet wrote",
                Exit.BAD_INPUT,
            )
        if as_json:
            about = {} if found is None else found.document()
            say(json.dumps(about | {"directory": None if place is None else str(place)}, indent=1), always=True)
        is_same = _print(file, found, place, there)
        if not is_same:
            raise typer.Exit(Exit.VIOLATED)


def _print(file: Path, found: Provenance | None, place: Path | None, there: Inputs | None) -> bool:
    """Print the provenance; return whether the file was made from the directory at hand."""
    if found is None:
        assert place is not None and there is not None
        say(f"{quoted(file)}: part of {_words(there)} in {quoted(place)}")
        say(f"Next: {_remade(place, there)}")
        return True
    say(f"{quoted(file)}: written by mobilenet {found.version}{_of(found)}")
    say(f"from {_words(found.inputs)}; SHA-256 of the scenario: {found.inputs.scenario_sha256}")
    if found.inputs.fingerprint is not None:
        say(f"fingerprint: {found.inputs.fingerprint}")
    _compare_versions(found)
    is_same = there is None or there == found.inputs
    if place is None or there is None or not is_same:
        if not is_same:
            say(f"{quoted(place or file)} is not what the file was made from: {_difference(found.inputs, there)}")
        say(f"Next: {_of_claims(found.command, file)}")
        return is_same
    if found.command.split()[1] not in ("run", "serve", "study"):
        say(f"the directory is {quoted(place)}; to recreate it: {_remade(place, there)}")
    say(f"Next: {_in_place(found.command, place)}")
    return True


def _words(inputs: Inputs) -> str:
    names = {"run": "a run", "study": "a study", "studies": "several studies", "file": "a file of tracks"}
    if inputs.kind == "paper":
        return f"{counted(inputs.runs, 'run')} of the experiments in a paper"
    many = f" of {counted(inputs.runs, 'run')}" if inputs.kind != "run" and inputs.runs else ""
    return f"{names.get(inputs.kind, inputs.kind)}{many}"


def _of(found: Provenance) -> str:
    if found.commit is None:
        return ""
    return f", commit {found.commit.rstrip('+')}{' with changes' if found.commit.endswith('+') else ''}"


def _compare_versions(found: Provenance) -> None:
    from mobilenet import __version__
    from mobilenet.rundir.stamp import commit

    if (found.version, found.commit) != (__version__, commit()):
        say(f"this is mobilenet {__version__}, commit {commit() or 'unknown'}, which may write it differently")


def _difference(one: Inputs, other: Any) -> str:
    if one.scenario_sha256 != other.scenario_sha256:
        return "another scenario"
    return "other runs" if one.fingerprint != other.fingerprint else f"{other.kind}, expected {one.kind}"


def _remade(place: Path, inputs: Inputs) -> str:
    """Return the command that its own tables name: it knows the verb, and whether code has to be allowed."""
    from mobilenet.rundir.provenance import carried

    table = place / ("events.parquet" if inputs.kind == "run" else "tables/runs.parquet")
    found = carried(table) if table.is_file() else None
    return _in_place(_remade_of_kind(place, inputs.kind) if found is None else found.command, place)


def _remade_of_kind(place: Path, kind: str) -> str:
    """Return it for a directory without such tables: by an older version, or unfinished."""
    from mobilenet.scenario.run_source import AdversarySchedule, permission, read_source
    from mobilenet.studies.store import open_store

    if kind == "run":
        source = read_source(place / "scenario.yaml")
        return f"mobilenet run RUN/scenario.yaml{'' if isinstance(source, AdversarySchedule) else permission(source)}"
    return f"mobilenet study STUDY/study.yaml{open_store(place).permission()}"


def _of_claims(command: str, file: Path) -> str:
    """Put the claims that are kept next to their answers into the command."""
    kept, words = file.parent / "claims.yaml", command.split(" ")
    if words[1:3] != ["claims", "FILE"] or not kept.is_file():
        return command
    again = file.parent.with_name(kept.absolute().parent.name + "-again")
    return " ".join([*words[:2], quoted(kept), *words[3:], "--out", quoted(again)])


def _in_place(command: str, place: Path) -> str:
    """Put the directory into the command."""
    words = command.split(" ")
    for name in PLACES:
        words = [quoted(place / word[len(name) + 1 :]) if word.startswith(f"{name}/") else word for word in words]
        words = [quoted(place) if word == name else word for word in words]
    if words[1] in ("run", "serve", "study"):
        words += ["--out", quoted(place.with_name(place.name + "-again"))]
    return " ".join(words)
