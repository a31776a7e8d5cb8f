"""Tests that documented commands run, that the files named in documents exist, and that tables match the code.

Model     The tests run the commands of the pages that a reader follows (README, tutorial, guide) in order, in one
          folder, as a reader would. A command that appears on several pages runs once. FEWER and IN_FILES make runs,
          studies, searches and swarms smaller; `make test-docs` runs them as they are printed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

import mobilenet as package
from mobilenet.cli.main import Commands
from mobilenet.lab.studies import spark
from mobilenet.lab.studies.cluster import cluster
from mobilenet.lab.studies.spark import QUICK_TO_START
from mobilenet.metrics.registry import OF_HOSTS
from tests.cli.command import mobilenet
from tests.lab.live.conftest import Server
from tests.write_api_page import PAGE as API
from tests.write_api_page import with_tables as with_api
from tests.write_verdict_tables import PAGE, with_tables

ROOT = Path(__file__).parent.parent
DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", *DOCS]
REAL_SOFTWARE = "docs/guide/real-software.md"  # tested by tests/lab/programs/namespaces/test_the_guide.py
CLUSTER = "docs/guide/cluster.md"  # tested on a cluster
PLAYED = [
    "README.md",
    "docs/tutorial.md",
    "docs/models/causes.md",
    *(name for name in DOCS if name.startswith("docs/guide/") and name not in (REAL_SOFTWARE, CLUSTER)),
]
PROGRAMS = ["README.md", "docs/api.md", "docs/tutorial.md", "docs/run-directory.md", "docs/guide/plug-ins.md"]
MADE_BY_READERS = {"shout.py", "shout.yaml"}  # tested by tests/lab/programs/test_the_guide.py
FEWER = {
    "--count 20": "--count 2",
    "--count 5": "--count 2",
    "--replications 10": "--replications 3",
    "--replications 334": "--replications 2",
    "--resolution 0.02": "--resolution 0.2 --set duration_s=4",
    "protocol.repair --out": "protocol.repair --trajectories 4 --replications 2 --set duration_s=4 --out",
    "flood.yaml": "flood.yaml --set duration_s=4",
    "scenarios/dynamic.yaml": "scenarios/dynamic.yaml --set duration_s=30",
    "record.frames=true --set duration_s=30": "record.frames=true --set duration_s=5 --set warmup_s=0",
}
IN_FILES = {
    "studies/loss.yaml": {"min: 5": "min: 2", "factors:": "set: {duration_s: 8}\nfactors:"},
    "claims/loss.yaml": {
        "rare: 0.2": "rare: 0.5",
        "duration_s: 10": "duration_s: 7",
        "at_most: 0.5": "at_most: 0.8",
        "schedules: 100": "schedules: 4",
    },
}
MADE_BY_COMMANDS = {"scenario.yaml", "study.yaml", "claims.yaml", "own.yaml", "spark-defaults.conf"}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def commands_in(name: str) -> list[str]:
    """Return the commands that occupy whole lines. A backslash continues a command on the next line."""
    text = re.sub(r" \\\n\s+", " ", text_of(name))
    return [line.strip() for line in text.splitlines() if re.match(r" {4}(mobilenet|python -m) ", line)]


IN_PROCESSES = ("serve", "swarm", "live")  # These commands start processes or servers.
COMMANDS = list(dict.fromkeys(command for name in [*PLAYED, REAL_SOFTWARE, CLUSTER] for command in commands_in(name)))


def run(command: str, folder: Path, *in_processes: str) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command)
    if words[0] == "mobilenet" and words[1] not in (*IN_PROCESSES, *in_processes):
        return mobilenet(*words[1:], place=folder)
    return in_a_process(words, folder, 300)


def in_a_process(words: list[str], folder: Path, timeout_s: float) -> subprocess.CompletedProcess[str]:
    if words[1] == "live":
        return looked_at(words[2:], folder)
    program = [sys.executable] if words[0] == "python" else [str(Path(sys.executable).parent / words[0])]
    env = os.environ | {"PYTHONPATH": str(ROOT), "MPLCONFIGDIR": str(folder)}
    return subprocess.run(
        [*program, *words[1:]], cwd=folder, env=env, capture_output=True, text=True, timeout=timeout_s
    )


def looked_at(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Start a live run, open its page, and then press Ctrl-C."""
    served = Server(folder, *arguments)
    assert b"mobilenet-data" in urlopen(served.url).read()
    code, out, err = served.end()
    return subprocess.CompletedProcess(arguments, code, out, err)


def replace_all(text: str, changes: dict[str, str]) -> str:
    for before, after in changes.items():
        text = text.replace(before, after)
    return text


class Reader:
    """A user who follows the documents in a folder that contains the scenarios of the clone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._done: set[str] = set()
        (folder / "data").symlink_to(ROOT / "data")
        shutil.copytree(ROOT / "scenarios", folder / "scenarios")
        for name, changes in IN_FILES.items():
            file = folder / "scenarios" / name
            file.write_text(replace_all(file.read_text(), changes))

    def follow(self, name: str) -> None:
        for command in commands_in(name):
            if command not in self._done:
                self._done.add(command)
                # The runs of the other pages do not need processes of their own.
                in_processes = ["run"] if name == "README.md" else []
                done = run(replace_all(command, FEWER), self.folder, *in_processes)
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
                assert "Next: " in done.stdout.splitlines()[-1], command


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    reader = Reader(tmp_path_factory.mktemp("reader"))
    reader.follow("README.md")
    return reader


@pytest.mark.long
def test_commands_of_the_tour_run_as_documented(reader: Reader) -> None:
    assert len(commands_in("README.md")) >= 20
    for made in ("map.html", "report.html", "figures/field.png", "spacetime-h3-handoff-1.svg"):
        assert (reader.folder / "runs/first" / made).stat().st_size > 10_000


@pytest.mark.long
@pytest.mark.parametrize("name", PLAYED[1:])
@pytest.mark.usefixtures("unpainted")
def test_commands_of_the_tutorial_and_the_guide_run(name: str, reader: Reader) -> None:
    """The fixture has already followed README.md and painted its figures. Other figures are not painted."""
    reader.follow(name)


@pytest.mark.long
@pytest.mark.spark
def test_documented_commands_run_on_a_cluster(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", QUICK_TO_START)
    monkeypatch.setattr(spark, "MASTER_TAKES_US_WITHIN_S", 200)
    with cluster(2, 7393) as (url, _, settings):
        monkeypatch.setenv("SPARK_CONF_DIR", str(settings))
        for command in commands_in(CLUSTER):
            done = run(replace_all(command, FEWER | {"spark://127.0.0.1:7077": url}), reader.folder)
            assert done.returncode == 0 and "Next: " in done.stdout.splitlines()[-1], done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_in_the_documents_run(name: str, reader: Reader) -> None:
    """Only the last program in each document must be complete."""
    reader.follow(name)
    code = re.findall(r"```python\n(.*?)```", text_of(name), re.DOTALL)[-1]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=reader.folder, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if name == "README.md":
        assert done.stdout.startswith("valid 0.0")


@pytest.mark.long
def test_the_tutorial_also_runs_as_a_program(tmp_path: Path) -> None:
    env = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, ROOT / "scenarios" / "tutorial.py"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("Next: open ")


def test_make_supports_every_target_in_the_documents() -> None:
    offered = subprocess.run(
        [sys.executable, "make.py", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60
    ).stdout
    named = {
        target
        for name in DOCUMENTS
        for target in re.findall(r"(?:`|^ {4})(?:make|python3 make\.py) ([a-z-]+)", text_of(name), re.MULTILINE)
    }
    assert {"demo", "test", "test-fast", "docs", "setup"} <= named
    makefile = text_of("Makefile")
    for target in named - {"help"}:
        assert re.search(rf"\b{target}\b", makefile) and re.search(rf"\b{target}\b", offered), target


def is_there(name: str, page: Path) -> bool:
    """Return whether a path exists in the clone, in the package, among the protocols, or next to the page. A name
    without a folder may be anywhere.
    """
    if "/" not in name:
        is_in_tree = any(
            path.name == name for top in ("mobilenet", "viz", "tests", "scenarios") for path in (ROOT / top).rglob(name)
        )
        return is_in_tree or name in MADE_BY_COMMANDS | MADE_BY_READERS or (ROOT / name).exists()
    protocols = ROOT / "mobilenet" / "protocols"
    places = (ROOT, ROOT / "mobilenet", ROOT / "scenarios", page.parent, protocols)
    return any((place / name).exists() for place in places)


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != "CHANGELOG.md"])
def test_files_mentioned_in_the_documents_exist(name: str) -> None:
    """The changelog is exempt, because it names modules as they were called at the time."""
    text, page = text_of(name), ROOT / name
    named = set(re.findall(r"`([\w./-]*\w\.(?:py|js|yaml|toml|lock))(?::\w+)?`", text))
    named |= set(
        re.findall(r"`((?:tests|mobilenet|scenarios|viz|data|docs|protocols|network|simulation)/[\w/-]*)`", text)
    )
    modules = {module.replace(".", "/") for module in re.findall(r"python -m (tests[\w.]*\w)", text)}
    named |= {f"{path}/__main__.py" if (ROOT / path).is_dir() else f"{path}.py" for path in modules}
    assert [path for path in sorted(named) if not is_there(path, page)] == []
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    for target in (link for link in links if "://" not in link):
        path, _, heading = target.partition("#")
        other = page if not path else page.parent / path
        assert other.exists(), target
        if heading:
            assert heading in headings(other), target


def test_documents_mentioned_in_the_code_exist() -> None:
    references = {
        (path.relative_to(ROOT).as_posix(), name)
        for top in ("mobilenet", "viz", "tests", "scenarios")
        for path in (ROOT / top).rglob("*.py")
        for name in re.findall(r"\bdocs/[\w/-]+\.md\b", path.read_text(encoding="utf-8"))
    }
    assert len(references) > 100
    assert sorted(place for place in references if not (ROOT / place[1]).exists()) == []


def headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", ["docs/verdicts-and-metrics.md", "docs/run-directory.md", "docs/guide/maps.md"])
def test_the_documents_define_pairs_for_both_radio_models(name: str) -> None:
    """If reception depends on the received power, pairs are not limited to nodes in range. The pages must not claim
    that they are.
    """
    assert not re.search(r"frame(,| and)\s+(node|receiver) in\s+(its\s+)?range", text_of(name))
    assert "in silence" in OF_HOSTS.meaning("nodes_within_reach_per_frame")


def test_the_metrics_page_matches_the_registry() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_tables(page), "say python -m tests.write_verdict_tables"


def test_the_api_page_matches_the_docstrings() -> None:
    page = API.read_text(encoding="utf-8")
    assert page == with_api(page), "say python -m tests.write_api_page"
    rows = re.findall(r"^\| `(\w+(?:\.\w+)?)\W", page, re.MULTILINE)
    names = {*package.__all__, "Run.verdicts", "Verdict.explanation", "run_campaign", "Shrinking.run"}
    assert sorted(names - {*rows, "Scenario", "ScenarioError"}) == []


def test_the_commands_page_lists_every_option() -> None:
    rows = re.findall(r"^\| `mobilenet ([\w-]+)(.*?)` \|", text_of("docs/guide/commands.md"), re.MULTILINE)
    for name, command in Commands().items():
        words = " ".join(rest for row, rest in rows if row == name)
        own = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
        options = {max(one.opts, key=len) for one in own} - {"--help"}
        assert set(re.findall(r"--[a-z][a-z-]*", words)) == options, name


@pytest.mark.parametrize("name", [name for name in DOCS if name.startswith("docs/validation/")])
def test_each_evidence_page_begins_with_the_command_to_run(name: str) -> None:
    head = text_of(name).partition("\n## ")[0]
    commands = re.findall(r"^ {4}(?:mobilenet|python -m|make) .*$", head, re.MULTILINE)
    assert commands or name.endswith("/index.md"), "four spaces, and the command, before the first section"


def file_of(name: str) -> Path:
    """Return the path of a file named on the page. The page names files of the package relative to its folder."""
    return ROOT / name if name.startswith(("tests/", "viz/")) else ROOT / "mobilenet" / name


def test_the_where_is_it_decided_table_refers_to_existing_code() -> None:
    table = text_of("docs/architecture.md").partition("## Where is it decided?")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "`" in line[:200]]
    rows = [row for row in rows if len(row) == 3]
    assert len(rows) >= 30
    for question, files, functions in rows:
        paths = (file_of(name) for name in re.findall(r"`([\w/]+\.py)`", files))
        sources = [path.read_text(encoding="utf-8") for path in paths]
        named = re.findall(r"`([\w.]+)`", functions)
        assert sources and named, question
        for function in (part for name in named for part in name.split(".")):
            pattern = rf"^\s*(?:def|class) {function}\b|^\s*{function}: |^{function} = "
            assert any(re.search(pattern, source, re.MULTILINE) for source in sources), f"{question}: {function}"


def test_extensions_are_registered_in_at_most_two_places() -> None:
    section = text_of("docs/architecture.md").partition("## Extension points")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|") and "`" in line]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(rows) >= 12

    for what, written, registered, test in rows:
        places = registered.split("; ")
        assert 1 <= len(places) <= 2, what
        for place in places:
            file, *names = re.findall(r"`([\w/.]+)`", place)
            source = file_of(file).read_text(encoding="utf-8")
            for name in names:
                assert re.search(rf"^\s*(?:def|class) {name}\b|^{name}\b", source, re.MULTILINE), (what, name)
        examples = re.findall(r"`([\w/]+/(?:[\w]+\.py)?)`", f"{written} {test}")
        assert examples and all(file_of(name).exists() for name in examples), what


def test_a_radio_model_is_mentioned_only_where_it_is_registered() -> None:
    naming = {
        path.relative_to(ROOT / "mobilenet").as_posix()
        for path in (ROOT / "mobilenet").rglob("*.py")
        if "distance_table" in path.read_text(encoding="utf-8")
    }
    others = {name for name in naming if not name.startswith("network/radio/distance_table/")}
    shared = "network/radio/keys.py"  # contains keys that two models share
    assert others == {"network/wireless.py", "engine/native.py", shared}


@pytest.mark.long
def test_the_documentation_site_is_complete_and_self_contained(tmp_path: Path) -> None:
    """Every link has a target, and a page opened from disk requests nothing from the network."""
    mkdocs = Path(sys.executable).parent / "mkdocs"
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    command = [str(mkdocs), "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > len(DOCS)
    first = (tmp_path / "index.html").read_text(encoding="utf-8")
    for name in ("reference", "contributing", "changelog", "tutorial", "api"):
        assert f'href="{name}.html"' in first, name
    for page in pages:
        tags = re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", page.read_text(encoding="utf-8"))
        assert [tag for tag in tags if re.search(r"""["']?(?:https?:)?//""", tag)] == [], page.name
    for sheet in tmp_path.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet.name
