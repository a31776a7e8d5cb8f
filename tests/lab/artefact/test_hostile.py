"""Tests that malicious archives are refused in one line, and that they leave no files inside or outside the folder."""

from __future__ import annotations

import os
import stat
import struct
import tempfile
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from mobilenet.lab.artefact import ArtefactError, entries, limits
from mobilenet.lab.artefact.archive import CHECKSUMS, open_archive
from mobilenet.lab.artefact.limits import clash, name_problem
from tests.cli.command import everything_below, mobilenet

from .archives import FILES, make_gossip, pack, refusal, zip_files

SIZE_AT = 24  # offset of the uncompressed size in an entry of the file list


def rename_to(name: str) -> Callable[[Path], None]:
    def write(target: Path) -> None:
        zip_files(target, {**FILES, name: b"x"})

    return write


def twice(target: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        zip_files(target)
        with zipfile.ZipFile(target, "a") as file:
            file.writestr("README.md", b"another")


def link(target: Path) -> None:
    info = zipfile.ZipInfo("studies/a/link.yaml")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    zip_files(target)
    with zipfile.ZipFile(target, "a") as file:
        file.writestr(info, "/etc/passwd")


def folder(target: Path) -> None:
    zip_files(target)
    with zipfile.ZipFile(target, "a") as file:
        file.mkdir("studies/b")


def bomb(target: Path) -> None:
    zip_files(target, {**FILES, "studies/a/tables/runs.csv": b"0" * 10_000_000})


def change_bytes(change: Callable[[bytearray], None]) -> Callable[[Path], None]:
    def write(target: Path) -> None:
        zip_files(target)
        data = bytearray(target.read_bytes())
        change(data)
        target.write_bytes(data)

    return write


def understate(data: bytearray) -> None:
    """Make the file list understate the unpacked size of a file."""
    struct.pack_into("<L", data, data.index(b"PK\x01\x02") + SIZE_AT, 1)


def many(target: Path) -> None:
    zip_files(target, {f"f{number}": b"" for number in range(limits.MOST_FILES + 1)})


def many_unlisted(data: bytearray) -> None:
    """Make the end record claim that the file list exceeds the limit, although the list contains only two files."""
    struct.pack_into("<L", data, len(data) - 10, limits.MOST_LIST_BYTES + 1)


def wrong_checksum(target: Path) -> None:
    right = sha256(FILES["README.md"]).hexdigest()
    digests = {"README.md": right, "studies/a/study.yaml": "0" * 64}
    zip_files(target, listed={"files": digests})


def without_list(target: Path) -> None:
    with zipfile.ZipFile(target, "w") as file:
        file.writestr("README.md", b"x")


def truncate(data: bytearray) -> None:
    del data[-30:]


def tear(data: bytearray) -> None:
    """Change one byte of a compressed file."""
    data[30 + len("README.md") + 2] ^= 0xFF


def zip64(data: bytearray) -> None:
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    data[-22:-22] = locator
    (size,) = struct.unpack_from("<L", data, len(data) - 10)
    struct.pack_into("<L", data, len(data) - 10, size + len(locator))


def encrypt(data: bytearray) -> None:
    data[data.index(b"PK\x01\x02") + 8] |= 1


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a path outside": (rename_to("../outside.txt"), "leads outside the archive"),
    "a path outside, from within": (rename_to("studies/../../outside.txt"), "leads outside the archive"),
    "an absolute path": (rename_to("/outside.txt"), "is absolute"),
    "a drive": (rename_to("C:/outside.txt"), "names a drive"),
    "a backslash": (rename_to("..\\outside.txt"), "has a backslash"),
    "an invisible character": (rename_to("a\u202etxt"), "invisible character"),
    "too deep": (rename_to("/".join("a" * 30)), "deeper than 20 folders"),
    "a link": (link, "is a link, a folder or a device"),
    "a folder": (folder, "leads outside the archive, or is not a file"),
    "a name twice": (twice, "occurs twice"),
    "a name twice but for case": (rename_to("readme.MD"), "occurs twice"),
    "a file that is a folder": (rename_to("README.md/x"), "is both a file and a folder"),
    "a bomb by ratio": (bomb, "which no file of a study does"),
    "a file longer than stated": (change_bytes(understate), "damaged"),
    "a bomb by count": (many, "20,002 files, expected at most 20,000"),
    "a list that is too long": (change_bytes(many_unlisted), "expected at most 20,000"),
    "a wrong checksum": (wrong_checksum, "its SHA-256 differs"),
    "no checksums": (without_list, f"{CHECKSUMS} is missing"),
    "a file without a checksum": (lambda target: zip_files(target, more={"more.py": b"x"}), f"is not in {CHECKSUMS}"),
    "a checksum without a file": (
        lambda target: zip_files(target, listed={"files": {"none": "0" * 64}}), "is not in"
    ),
    "checksums that are not texts": (
        lambda target: zip_files(target, listed={"files": {"README.md": 1}}), "is damaged"
    ),
    "another format": (lambda target: zip_files(target, listed={"format": 2}), "format 2, expected 1"),
    "not a ZIP file": (lambda target: target.write_bytes(b"PK" * 100), "not a ZIP file"),
    "an empty file": (lambda target: target.write_bytes(b""), "not a ZIP file"),
    "a truncated file": (change_bytes(truncate), "not a ZIP file, truncated"),
    "a torn file": (change_bytes(tear), "is damaged"),
    "ZIP64": (change_bytes(zip64), "ZIP64"),
    "encrypted": (change_bytes(encrypt), "is encrypted"),
    "neither studies nor claims": (lambda target: zip_files(target, {"README.md": b"x"}), "neither studies nor claims"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_rejected_and_leaves_no_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, what = HOSTILE[name]
    place, temporary = tmp_path / "place", tmp_path / "temporary"
    place.mkdir()
    temporary.mkdir()
    write(place / "x.zip")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    line = refusal(place, "check", "x.zip", "--allow-code")
    assert line.startswith("x.zip: ") and what in line, line
    assert everything_below(tmp_path) == ["place", "place/x.zip", "temporary"]


def test_archive_and_file_sizes_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = os.urandom(3_000)
    zip_files(tmp_path / "x.zip", {**FILES, "noise": noise})
    for limit, most, what in (
        ("MOST_ARCHIVE_BYTES", 2_000, "bytes, expected at most 2,000"),
        ("MOST_FILE_BYTES", 2_000, "noise has 3,000 bytes"),
        ("MOST_BYTES", 3_000, "bytes unpacked"),
        ("MOST_FILES", 3, "4 files, expected at most 3"),
        ("MOST_LIST_BYTES", 100, "expected at most"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(entries, limit, most)
            assert what in refusal(tmp_path)


SCENARIO = "studies/a/configurations/c000/scenario.yaml"
STUDY = {
    "studies/a/study.yaml": b"scenario: configurations/c000/scenario.yaml\n",
    "studies/a/configurations/factors.yaml": b"factors: {}\nset: {}\n",
    SCENARIO: b"seed: 1\n",
}
LEVELS = b"scenario: configurations/c000/scenario.yaml\nfactors: {seed: %s}\n"
SPAN = b"{from: 1, to: 1000, step: 1}"
MANY = SPAN + b", hosts.count: " + SPAN + b", duration_s: " + SPAN + b", warmup_s: " + SPAN
OUTSIDE = {
    "tracks": {**STUDY, SCENARIO: b"hosts: {mobility: {model: tracks, file: /etc/passwd}}\n"},
    "walls": {**STUDY, SCENARIO: b"wireless: {obstacles: {file: ../../../../x}}\n"},
    "a plug-in": {**STUDY, SCENARIO: b"protocol: {class: '/x.py:X'}\n"},
    "a metric": {**STUDY, SCENARIO: b"metrics: ['../x.py:x']\n"},
    "files of a program": {**STUDY, SCENARIO: b"protocol: {command: [sh], files: ['../*']}\n"},
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_archived_scenario_cannot_refer_to_outside_files(name: str, tmp_path: Path) -> None:
    zip_files(tmp_path / "x.zip", OUTSIDE[name])
    line = refusal(tmp_path, "check", "x.zip", "--allow-code")
    assert line.startswith(f"x.zip: {SCENARIO}: ") and line.endswith("is outside the archive")


def test_studies_and_claims_can_only_use_files_in_the_archive(tmp_path: Path) -> None:
    claims = b"experiments: {e: {study: %s}}\nclaims: {}\n"
    for files, what in (
        ({**STUDY, "studies/a/study.yaml": b"scenario: /etc/passwd\n"}, "expected the study.yaml of a study"),
        ({"studies/a/study.yaml": STUDY["studies/a/study.yaml"]}, "expected the study.yaml of a study"),
        ({"claims/c/claims.yaml": claims % b"/study.yaml"}, "expected study: e/study.yaml"),
        ({"claims/c/claims.yaml": claims % b"e/study.yaml"}, "claims/c/e/study.yaml: missing from the archive"),
        ({"claims/c/claims.yaml": b"experiments: {..: {study: ../study.yaml}}\n"}, "expected study: ../study.yaml"),
        ({**STUDY, "studies/a/study.yaml": LEVELS % b"[1, 2]"}, "2 configurations, but the archive contains 1"),
        ({**STUDY, "studies/a/study.yaml": LEVELS % MANY}, "1000000000000 configurations, but the archive contains 1"),
        ({**{name.replace("c000", "c001"): data for name, data in STUDY.items()}}, f"{SCENARIO}: missing from the"),
        (
            {"claims/c/claims.yaml": b"claims: {}\n", "claims/c/claims.json": b"[]"},
            "expected the file that `mobilenet claims` writes",
        ),
        ({"claims/c/claims.yaml": b"claims: {}\n"}, "expected the file that `mobilenet claims` writes"),
        ({"studies/a/study.yaml": b"\xff"}, "studies/a/study.yaml:1: not UTF-8 text"),
    ):
        zip_files(tmp_path / "x.zip", files)
        line = refusal(tmp_path)
        assert line.startswith("x.zip: ") and what in line and tempfile.gettempdir() not in line, line


def test_an_archive_is_verified_again_when_it_is_extracted(tmp_path: Path) -> None:
    zip_files(tmp_path / "x.zip")
    with open_archive(tmp_path / "x.zip") as artefact:
        artefact.verify()
        artefact.digests["README.md"] = "0" * 64
        (tmp_path / "out").mkdir()
        with pytest.raises(ArtefactError, match="its SHA-256 differs"):
            artefact.extract(tmp_path / "out")


def test_bad_or_clashing_file_names_in_archives_are_rejected() -> None:
    for good in ("a", "a/b c.txt", "ä/ß.csv", "...", ".hidden"):
        assert name_problem(good) is None
    for bad in ("", "/", "a//b", "a/", "./a", "..", "a/../b", "a\0b", "a\nb", "c:d", "x" * 301):
        assert name_problem(bad) is not None
    assert clash(["a/b", "a/c", "ab"]) is None
    assert clash(["straße", "STRASSE"]) == "STRASSE" and clash(["é", "e\u0301"]) == "e\u0301"
    assert clash(["a/b/c", "A"]) == "a/b/c"


def test_code_in_an_archive_is_not_read_without_permission(tmp_path: Path) -> None:
    """The plug-in would create a file if it ran. Its checksums are correct, so only the missing permission prevents it
    from running.
    """
    make_gossip(tmp_path)
    files, mark = pack(tmp_path, "gossip", archive="right.zip"), tmp_path / "mark"
    plug_in = "studies/gossip/configurations/c000/gossip.py"
    files[plug_in] += f"\nopen({str(mark)!r}, 'w').close()\n".encode()
    zip_files(tmp_path / "x.zip", files)
    done = mobilenet("artefact", "check", "right.zip", place=tmp_path)
    assert done.returncode == 4 and "needs --allow-code, as it runs gossip.py:Gossip" in done.stdout, done
    assert done.stdout.splitlines()[-1] == "Next: mobilenet artefact check right.zip --allow-code"
    done = mobilenet("artefact", "check", "x.zip", place=tmp_path)
    # The exit code is 1 if the metadata of the archive do not match the changed plug-in.
    assert done.returncode in (1, 4) and "needs --allow-code" in done.stdout, done
    assert not mark.exists()
    for name in ("gossip.py", "scenario.yaml"):
        (tmp_path / name).write_bytes(files[plug_in.replace("gossip.py", name)])
    assert mobilenet("run", "scenario.yaml", "--allow-code", "-q", place=tmp_path).returncode == 0
    assert mark.exists()
