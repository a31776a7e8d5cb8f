"""Tests that compiled modules behave like their source, and that they are used only while they match that source."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mobilenet.engine import build_native, native
from mobilenet.lab.studies.spark import package_archive
from tests.conftest import ROOT
from tests.test_fingerprints import Digests, digests, record, shorten

needs_a_compiler = pytest.mark.skipif(build_native.obstacle() is not None, reason=str(build_native.obstacle()))


def python(place: Path, code: str, **environment: str) -> str:
    env = {name: value for name, value in os.environ.items() if name != "MOBILENET_COMPILED"} | environment
    done = subprocess.run([sys.executable, "-c", code], cwd=place, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


SAY = (
    "from mobilenet.engine import native, timer; print(native.in_use(), native.is_outdated(),"
    " timer.__file__.rpartition('.')[2])"
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the package at another path, compiled from the same source."""
    place = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        ROOT / "mobilenet", place / "mobilenet", ignore=shutil.ignore_patterns("__pycache__", "__compiled__")
    )
    assert python(place, SAY) == "False False py"
    if native.folder().is_dir():
        shutil.copytree(native.PLACE, place / "mobilenet" / "__compiled__")
    else:
        python(place, "from mobilenet.engine.build_native import main; main(True)")
    return place


@needs_a_compiler
def test_compiled_modules_are_used_only_if_up_to_date(copy: Path) -> None:
    assert python(copy, SAY) == "True False so"
    assert python(copy, SAY, MOBILENET_COMPILED="0") == "False False py"
    source = copy / "mobilenet" / "engine" / "timer.py"
    before = source.read_text()
    source.write_text(before + "\nMARK = 1\n")
    assert python(copy, SAY + "; print(timer.MARK)") == "False True py\n1"
    source.write_text(before)
    assert python(copy, SAY) == "True False so"


PARSES = "; import sys; print('ast' in sys.modules)"


@needs_a_compiler
def test_compiled_modules_stay_valid_if_only_comments_change(copy: Path) -> None:
    source = copy / "mobilenet" / "engine" / "timer.py"
    before = source.read_text()
    head, _, code = before.partition('"""\n\n')
    reworded = f'{head} In other words."""\n\n# Another comment.\n\n\n{code}'
    try:
        source.write_text(reworded)
        assert python(copy, SAY) == "True False so"
        assert python(copy, SAY + PARSES) == "True False so\nFalse"  # The answer was cached.
        source.write_text(reworded + "\nMARK = 1\n")
        for _ in range(2):
            assert python(copy, SAY) == "False True py"
        assert python(copy, SAY + PARSES) == "False True py\nFalse"
        source.write_text("not Python")
        assert native_says(copy) == "False True"
    finally:
        source.write_text(before)
    assert python(copy, SAY) == "True False so"


def native_says(place: Path) -> str:
    return python(place, "from mobilenet.engine import native; print(native.in_use(), native.is_outdated())")


@pytest.mark.long
@needs_a_compiler
def test_a_failed_compilation_falls_back_and_is_not_retried(copy: Path) -> None:
    source = copy / "mobilenet" / "engine" / "timer.py"
    before = source.read_text()
    source.write_text(before.replace("self.deadline_ns = -1  #", 'self.deadline_ns = "never"  #'))
    try:
        first, second = (output_of(copy, tries_again=False) for _ in range(2))
        assert len(first) == 2 and "the compiler failed: see " in first[1]
        assert len(second) == 1 and "`make setup` tries again" in second[0]
        third = output_of(copy, tries_again=True, before="build_native.make = lambda: 'tried'")
        assert third[-1].endswith(": tried")
        assert "timer.py" in Path(first[1].rpartition(" ")[2]).read_text()
        assert python(copy, SAY) == "False True py"
    finally:
        source.write_text(before)
    assert python(copy, SAY) == "True False so"  # the build of the original source still exists


@needs_a_compiler
def test_a_wheel_includes_only_modules_compiled_from_its_source(copy: Path, tmp_path: Path) -> None:
    """`make dist` passes the folder of the compiled modules of the clone. This folder may also contain builds of other
    sources.
    """
    shutil.copytree(copy / "mobilenet", tmp_path / "mobilenet", ignore=shutil.ignore_patterns("__compiled__"))
    there = shutil.copytree(copy / "mobilenet/__compiled__", tmp_path / "__compiled__")
    (there / "0123456789abcdef").mkdir()
    # The empty output shows that nothing was compiled.
    assert output_of(tmp_path, tries_again=True, MOBILENET_COMPILED_THERE=str(there)) == []
    taken = [path.name for path in (tmp_path / "mobilenet/__compiled__").iterdir()]
    assert taken == [python(tmp_path, "from mobilenet.engine import native; print(native.folder().name)")]
    assert python(tmp_path, SAY) == "True False so"


@needs_a_compiler
def test_a_compiled_library_that_cannot_be_loaded_is_ignored(copy: Path) -> None:
    (library,) = {file.resolve() for file in (copy / "mobilenet/__compiled__").glob(f"*/{native.LIBRARY}.*")}
    whole = library.read_bytes()
    library.write_bytes(b"")
    assert python(copy, SAY) == "False True py"
    library.write_bytes(whole)


@pytest.mark.parametrize("command", ["no-such-compiler", "   "])
def test_without_a_compiler_the_build_explains_what_is_missing(tmp_path: Path, command: str) -> None:
    shutil.copytree(
        ROOT / "mobilenet", tmp_path / "mobilenet", ignore=shutil.ignore_patterns("__pycache__", "__compiled__")
    )
    for again, lines in ((True, 1), (False, 0)):
        messages = output_of(tmp_path, tries_again=again, CC=command, PATH=str(tmp_path))
        assert len(messages) == lines and all("C compiler not found (" in line for line in messages)
    assert not (tmp_path / "mobilenet" / "__compiled__").exists()


def output_of(place: Path, tries_again: bool, before: str = "", **environment: str) -> list[str]:
    code = f"from mobilenet.engine import build_native\n{before}\nbuild_native.main({tries_again})"
    env = os.environ | environment
    done = subprocess.run([sys.executable, "-c", code], cwd=place, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr.splitlines()


@pytest.mark.long
@pytest.mark.skipif(not native.in_use(), reason="the tests themselves run interpreted")
def test_interpreted_and_compiled_runs_are_identical() -> None:
    """All other tests run compiled code where possible. This test runs shortened scenarios of each kind interpreted."""
    names = ["churn", "dynamic_on_vcube", "faults", "first", "gossip", "radio_check", "streets", "tcp_dynamic"]
    code = f"import json; from tests.test_fingerprints import all_digests; print(json.dumps(all_digests({names})))"
    python_digests: dict[str, Any] = json.loads(python(ROOT, code, MOBILENET_COMPILED="0"))
    pinned = json.loads((ROOT / "tests" / "fingerprints.json").read_text())
    assert python_digests == {name: pinned[name] for name in names}


ACKING = (
    "wireless={mac: acking, bitrate_mbps: 1, loss: 0.05, link_ack_timeout_ms: 20}",
    "wireless={mac: acking, bitrate_mbps: 6, full_duplex: false, queue_frames: 5}",
)


def over_acking() -> list[Digests]:
    """Return the digests of runs over a MAC with acknowledgements. The scenario "faults" also has crashes."""
    runs = []
    for name, changes in (("faults", ["faults.first_at_s=4"]), ("tcp_dynamic", [])):
        for wireless in ACKING:
            recording = record(shorten(name, wireless, "duration_s=8", "warmup_s=2", *changes))
            crashes = recording.tables()["events"].column("event").rows("crash")
            assert (len(crashes) > 0) == (name == "faults")
            runs.append(digests(recording))
    return runs


@pytest.mark.long
@pytest.mark.skipif(not native.in_use(), reason="the tests themselves run interpreted")
def test_interpreted_and_compiled_runs_agree_with_the_acking_mac() -> None:
    code = "import json; from tests.test_compiled import over_acking; print(json.dumps(over_acking()))"
    python_digests: list[Digests] = json.loads(python(ROOT, code, MOBILENET_COMPILED="0"))
    assert python_digests == over_acking()
    assert len({one["events"] for one in python_digests}) == len(python_digests)


def test_protocols_are_not_compiled() -> None:
    assert not any(name.startswith("mobilenet.protocols") for name in native.MODULES)
    assert all(path.is_file() for path in native.sources())


@pytest.mark.parametrize(("command", "mends"), [("run", True), ("swarm", True), ("show", False), ("check", False)])
def test_a_command_that_simulates_renews_the_compiled_modules(command: str, mends: bool) -> None:
    code = (
        "from mobilenet.engine import build_native, native\n"
        "native.is_outdated = lambda: True\n"
        "build_native.main = lambda tries_again: print('compiled anew')\n"
        "native.use = lambda: print('and used')\n"
        "from mobilenet.cli.main import app\n"
        f"app(['{command}', '--count=0' if '{command}' == 'swarm' else 'nowhere'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2, done.stderr
    assert ("compiled anew\nand used" in done.stdout) == mends


def test_modules_in_an_archive_use_a_matching_compiled_library(tmp_path: Path) -> None:
    """Spark's executors receive the package as an archive. A library cannot be loaded from within an archive, so it has
    to be unpacked.
    """
    if not native.in_use():
        pytest.skip("nothing has been compiled")
    archive = package_archive(tmp_path)
    look = (
        "import sys; sys.path.insert(0, sys.argv[1]); import mobilenet; from mobilenet.network.radio import medium;"
        "print(mobilenet.__file__, mobilenet.native.in_use(), medium.__file__)"
    )
    words = [sys.executable, "-P", "-c", look, str(archive)]
    environment = {name: value for name, value in os.environ.items() if name != "MOBILENET_COMPILED"}
    for _ in range(2):  # The second call finds the files that the first call unpacked.
        output = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment).stdout
        package, is_compiled, medium = output.split()
        assert package.startswith(f"{archive}/") and is_compiled == "True" and medium.endswith(".so")
        assert len(list(tmp_path.iterdir())) == 2
    environment["MOBILENET_COMPILED"] = "0"
    output = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment).stdout
    assert output.split()[1] == "False"
