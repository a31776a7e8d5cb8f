"""The command that explains where a file comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mobilenet.cli.console import Exit, fail, reporting, say
from mobilenet.cli.options import AsJson
from mobilenet.quoting import pluralize, quote

if TYPE_CHECKING:
    from mobilenet.record.stamp import Inputs, Provenance

PLACES = ("STUDY", "CLAIMS", "FILE", "RUN")  # placeholders for the input file or directory of a command
MAKERS = ("run", "serve", "study", "capacity", "sensitivity", "claims")  # commands that create a directory
# If a study directory contains one of these files, a command other than `mobilenet study` made it.
SEARCHES = ("capacity.json", "sensitivity.parquet")
ANSWERS, KEPT = "claims.json", "claims.yaml"


def explain(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that mobilenet wrote.")],
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RUN|STUDY",
            help="Directory that the file was made from; by default the one that contains the file.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print where a file comes from.

    The command prints the version, the scenario, the runs and the command that made the file, and how to make it
    again. If the directory that contains the file is not the one that the file was made from, the exit code is 1.
    """
    with reporting(quiet=as_json, reads=[file]):
        from mobilenet.record.provenance import read_provenance

        if not file.is_file():
            fail(f"{quote(file)}: no such file", Exit.BAD_INPUT)
        place, there = _around(file if source is None else source)
        if source is not None and place is None:
            fail(
                f"--from {quote(source)}: expected the directory of a run, of a study or of evaluated claims",
                Exit.BAD_INPUT,
            )
        provenance = read_provenance(file)
        if provenance is None and there is None and _print_archive(file, as_json):
            return
        if provenance is None and there is None:
            fail(
                f"{quote(file)}: contains no provenance, and is not inside a run or study directory; expected a file"
                " that mobilenet wrote",
                Exit.BAD_INPUT,
            )
        if as_json:
            about = {} if provenance is None else provenance.document()
            say(json.dumps(about | {"directory": None if place is None else str(place)}, indent=1), always=True)
        is_same = _print(file, provenance, place, there)
        if not is_same:
            raise typer.Exit(Exit.VIOLATED)


def _print(file: Path, provenance: Provenance | None, place: Path | None, there: Inputs | None) -> bool:
    """Print the provenance. Return whether the file was made from the data in its current directory."""
    if provenance is None:
        assert place is not None and there is not None
        say(f"{quote(file)}: part of {_words(there)} in {quote(place)}")
        say(f"Next: {_remade(place, there)}")
        return True
    say(f"{quote(file)}: written by mobilenet {provenance.version}{_of(provenance)}")
    say(f"from {_words(provenance.inputs)}; SHA-256 of the scenario: {provenance.inputs.scenario_sha256}")
    if provenance.inputs.fingerprint is not None:
        say(f"fingerprint: {provenance.inputs.fingerprint}")
    _compare_versions(provenance)
    is_same = there is None or there == provenance.inputs
    if place is None or there is None or not is_same:
        if not is_same:
            say(f"{quote(place or file)} is not what the file was made from: {_difference(provenance.inputs, there)}")
        if source := next((name for name in PLACES if f" {name}" in provenance.command), None):
            say(f"{source} stands for what the file was made from; `--from` names its directory")
        say(f"Next: {provenance.command}")
        return is_same
    verb = provenance.command.split()[1]
    if verb not in MAKERS:
        say(f"the directory is {quote(place)}; to recreate it: {_remade(place, there)}")
    is_own = verb not in MAKERS or verb in ("run", "serve")
    say(f"Next: {_in_place(provenance.command, place) if is_own else _remade(place, there)}")
    return True


def _print_archive(file: Path, as_json: bool) -> bool:
    """Print the provenance of an archive, or of the unpacked archive that contains a file. Return whether one was
    found.
    """
    from mobilenet.lab.artefact import ArtefactError
    from mobilenet.lab.artefact.archive import CHECKSUMS, open_archive

    folder = file.parent
    try:
        if file.suffix.lower() == ".zip":
            with open_archive(file) as archive:
                digests, by = archive.digests, archive.made_by
            following = f"mobilenet artefact check {quote(file)}"
        elif (folder / CHECKSUMS).is_file():
            document = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
            digests, by = dict(document["files"]), dict(document["made_by"])
            if file.name not in (*digests, CHECKSUMS):
                return False
            parts = sorted(folder.glob(f"claims/*/{KEPT}")) or sorted(folder.glob("studies/*/study.yaml"))
            following = f"mobilenet explain {quote(parts[0])}" if parts else f"look at {quote(folder / 'README.md')}"
        else:
            return False
    except (ArtefactError, OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
    if as_json:
        say(json.dumps({"kind": "artefact", "files": len(digests), "made_by": by}, indent=1), always=True)
    what = "an archive" if file.suffix.lower() == ".zip" else "part of an unpacked archive"
    origin = f"with mobilenet {str(by.get('mobilenet'))[:80]}, commit {str(by.get('commit') or 'unknown')[:80]}"
    say(f"{quote(file)}: {what} of {pluralize(len(digests) + 1, 'file')}, written by `mobilenet artefact` {origin}")
    say(f"Next: {following}")
    return True


def _around(file: Path) -> tuple[Path | None, Inputs | None]:
    """Return the innermost run, study or results of claims that contain `file` (or are `file` itself), with their
    inputs.
    """
    from mobilenet.record.provenance import inputs_of_claims, run_or_study_around

    place = file if file.is_dir() else file.parent
    place = place.parent if place.name == "figures" and _has_answers(place.parent) else place
    if not _has_answers(place):
        return run_or_study_around(file)
    from mobilenet.lab.studies.claims.declaration import Claims

    experiments = Claims.load(place / KEPT).experiments
    text = (place / KEPT).read_text(encoding="utf-8")
    return place, inputs_of_claims(text, [place / name for name in experiments])


def _has_answers(place: Path) -> bool:
    return (place / ANSWERS).is_file() and (place / KEPT).is_file()


def _words(inputs: Inputs) -> str:
    names = {"run": "a run", "study": "a study", "studies": "several studies", "file": "a file of tracks"}
    many = f" of {pluralize(inputs.runs, 'run')}" if inputs.kind != "run" and inputs.runs else ""
    return f"{names.get(inputs.kind, inputs.kind)}{many}"


def _of(provenance: Provenance) -> str:
    if provenance.commit is None:
        return ""
    return f", commit {provenance.commit.rstrip('+')}{' with changes' if provenance.commit.endswith('+') else ''}"


def _compare_versions(provenance: Provenance) -> None:
    from mobilenet import __version__
    from mobilenet.record.stamp import commit

    if (provenance.version, provenance.commit) != (__version__, commit()):
        say(f"this is mobilenet {__version__}, commit {commit() or 'unknown'}, which may write the file differently")


def _difference(one: Inputs, other: Any) -> str:
    if one.scenario_sha256 != other.scenario_sha256:
        return "another scenario"
    return "other runs" if one.fingerprint != other.fingerprint else f"{other.kind}, expected {one.kind}"


def _remade(place: Path, inputs: Inputs) -> str:
    """Return the command that made a directory, as recorded in its files, with --allow-code if necessary. For
    experiments of claims, return the command that tests the claims.
    """
    from mobilenet.record.provenance import read_provenance

    around = place.absolute().parent if place.name == "" else place.parent
    answers = place if inputs.kind == "claims" else around if _has_answers(around) else None
    if inputs.kind != "run" and answers is not None:
        provenance = read_provenance(answers / ANSWERS)
        permission = " --allow-code" if provenance is not None and provenance.command.endswith(" --allow-code") else ""
        return _in_place(f"mobilenet claims CLAIMS/{KEPT}{permission}", answers)
    for name in SEARCHES if inputs.kind == "study" else ():
        if (place / name).is_file() and (provenance := read_provenance(place / name)) is not None:
            return _in_place(provenance.command, place)
    table = place / ("events.parquet" if inputs.kind == "run" else "tables/runs.parquet")
    provenance = read_provenance(table) if table.is_file() else None
    return _in_place(_remade_of_kind(place, inputs.kind) if provenance is None else provenance.command, place)


def _remade_of_kind(place: Path, kind: str) -> str:
    """Return the command for a directory without recorded provenance, because it is unfinished or was made by an older
    version.
    """
    from mobilenet.lab.studies.store import open_store
    from mobilenet.scenario.adversary import AdversarySchedule
    from mobilenet.scenario.run_source import permission, read_source

    if kind == "run":
        source = read_source(place / "scenario.yaml")
        return f"mobilenet run RUN/scenario.yaml{'' if isinstance(source, AdversarySchedule) else permission(source)}"
    return f"mobilenet study STUDY/study.yaml{open_store(place).permission()}"


def _in_place(command: str, place: Path) -> str:
    """Replace the placeholder in a command with the directory."""
    words = command.split(" ")
    for name in PLACES:
        words = [quote(place / word[len(name) + 1 :]) if word.startswith(f"{name}/") else word for word in words]
        words = [quote(place) if word == name else word for word in words]
    if words[1] in MAKERS:
        whole = place if place.name else place.absolute()
        words += ["--out", quote(whole.with_name(whole.name + "-again"))]
    return " ".join(words)
