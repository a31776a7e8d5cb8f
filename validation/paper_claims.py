"""Write the claims files of the papers, from the printed numbers and the findings in docs/validation.

    python -m validation.paper_claims

Model     there is one claim for each printed number. It holds if our mean lies in the range that the printed number can
          represent. Claims that do not hold today are marked by `expect`. For the mobile paper, these are the claims
          that docs/validation/paper.md does not mark as fitting. For the other papers, paper_differences.py lists the
          claims, cell by cell, as docs/validation/vcube.md does
Source    data/papers/; ours: docs/guide/claims.md, docs/validation/
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

from mobilenet.lab.package_files import PAPERS, SCENARIOS
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.papers.causal import PRINTED as CAUSAL
from mobilenet.lab.studies.papers.jobs import SIZES
from mobilenet.lab.studies.papers.reliable_statements import PRINTED as RELIABLE
from mobilenet.metrics.registry import OF_HOSTS
from mobilenet.scenario.yaml_writer import inline
from validation.paper_differences import BUNDLING_DIFFERS, CAUSAL_AGREES, RELIABLE_FAILS, RELIABLE_FAILS_ABOVE_128

FOLDER = SCENARIOS / "claims"
DOCUMENT = Path(__file__).parents[1] / "docs" / "validation" / "paper.md"
RARE = 0.5  # 40 replications may miss rarer outcomes, because the error is divided among all claims
FAILS = "does not hold"
MOBILE, BUNDLING = PAPERS / "wilhelm2020_mobile.csv", PAPERS / "rodrigues2018_bundling.csv"
STUDY = SCENARIOS / "studies" / "vcube_bundling.yaml"
FIRST_SEED = 2000  # the search for the presets did not use these seeds
PRECISION = {"rare": RARE, "replications": 40}  # the document uses the same number of replications
WORDS = {
    "static": "static, 5.6 messages a second",
    "static_25": "static, 25 messages a second",
    "static_heavy": "static, 35 messages a second",
    "dynamic": "walking, 25 messages a second",
    "faults": "walking, with crashes in the cell of s3",
    "tcp_static": "flooding over TCP, 5.6 messages a second",
    "tcp_heavy": "flooding over TCP, 35 messages a second",
}
ENGINEERING: dict[str, Any] = {  # scenarios with engineering defaults, and with the loads and durations of the paper
    "static": {"scenario": "../static.yaml", "set": {"duration_s": 100}},
    "static_25": {"scenario": "../static.yaml", "set": {"duration_s": 100, "workload.interval_s": 2.8}},
    "static_heavy": {"scenario": "../static_heavy.yaml", "set": {"duration_s": 100}},
    "dynamic": {"scenario": "../dynamic.yaml", "set": {"duration_s": 250}},
    "tcp_static": {"scenario": "../tcp_static.yaml", "set": {"duration_s": 100}},
}
WIDTH = 110
Claim = dict[str, Any]
File = tuple[list[str], dict[str, Any]]  # (comment, content)


def files() -> dict[str, str]:
    """Return the name and the text of each claims file."""
    contents = {
        "mobile": _mobile(),
        "engineering": _engineering(),
        "bundling": _bundling(),
        "causal": _causal(),
        "reliable": _reliable(),
    }
    return {f"paper_{name}.yaml": _text(*content) for name, content in contents.items()}


def _text(comment: list[str], content: dict[str, Any]) -> str:
    lines = ["# yaml-language-server: $schema=../claims.schema.json", *(f"# {line}" for line in comment)]
    for key, value in content.items():
        if key not in ("experiments", "claims"):
            lines.append(f"{key}: {inline(value)}")
            continue
        lines.append(f"{key}:")
        for name, group in value.items():
            lines.append(f"  {inline(name)}:")
            lines += [line for own in group.items() for line in _lines(*own, indent="    ")]
    return "\n".join(lines) + "\n"


def _lines(key: str, value: Any, indent: str) -> Iterator[str]:
    line = f"{indent}{key}: {inline(value)}"
    if len(line) <= WIDTH or not isinstance(value, (dict, list, tuple, str)):
        yield line
        return
    if isinstance(value, str):  # YAML joins the lines of a quoted string
        yield from wrap(line, WIDTH, subsequent_indent=indent + "  ", break_long_words=False, break_on_hyphens=False)
        return
    yield f"{indent}{key}:"
    for part in value.items() if isinstance(value, dict) else value:
        if isinstance(value, dict):
            yield from _lines(*part, indent=indent + "  ")
        else:
            yield from _entry(part, indent)


def _entry(part: Any, indent: str) -> Iterator[str]:
    """Format an entry of a list. Write one key per line if the entry does not fit on one line."""
    if len(inline(part)) + len(indent) < WIDTH:
        yield f"{indent}- {inline(part)}"
        return
    for place, (key, value) in enumerate(part.items()):
        yield f"{indent}{'  ' if place else '- '}{key}: {inline(value)}"


# --- Wilhelm, Arantes, Sens (2020)


def _mobile() -> File:
    comment = [
        "Wilhelm, Arantes and Sens (2020), Section V: each printed number. The settings were fitted on other seeds.",
        "Outcomes in under half of the runs can be missed: 40 replications cannot exclude much less.",
        "Written by `python -m validation.paper_claims`. What is known not to hold is in docs/validation/paper.md.",
    ]
    experiments = {
        name: {"scenario": f"../paper/{name}.yaml", "first_seed": FIRST_SEED} for name in WORDS if name != "faults"
    }
    verdicts = [verdict == "fits" for _, _, verdict, _ in documented_rows()]
    content = {"name": "Wilhelm, Arantes and Sens (2020), Section V", **PRECISION, "experiments": experiments}
    collapse = {
        "says": "At 35 messages a second, flooding over TCP does not work: its backlog grows (V.A).",
        "relation": "within", "metric": "backlog_slope", "value": {"experiment": "tcp_heavy"}, "at_least": 0.25,
    }  # fmt: skip
    return comment, content | {"claims": dict(_mobile_claims(verdicts)) | {"collapse": collapse}}


def _engineering() -> File:
    comment = [
        "Wilhelm, Arantes and Sens (2020), Section V: each printed number, with the settings that all other scenarios",
        "have. Outcomes in under half of the runs can be missed.",
        "Written by `python -m validation.paper_claims`, from the last column of docs/validation/paper.md.",
    ]
    name = "Wilhelm, Arantes and Sens (2020), Section V, with the engineering defaults"
    experiments = {name: {"first_seed": FIRST_SEED, **keys} for name, keys in ENGINEERING.items()}
    numbers = [float(beside.split()[0]) if beside else None for *_, beside in documented_rows()]
    content = {"name": name, **PRECISION, "experiments": experiments}
    return comment, content | {"claims": dict(_mobile_claims(numbers))}


def _mobile_claims(documented: list[Any]) -> Iterator[tuple[str, Claim]]:
    """Yield the claims. For each of them, `documented` contains the mean in the document, or whether the claim fits."""

    def expect(ours: Any, low: float, high: float) -> Claim:
        return {} if (ours if isinstance(ours, bool) else low <= ours <= high) else {"expect": FAILS}

    with MOBILE.open(newline="", encoding="utf-8") as file:
        printed = list(csv.DictReader(file))
    for row, (experiment, number, *_), ours in zip(printed, documented_rows(), documented, strict=False):
        assert (WORDS[row["experiment"]], row["printed"]) == (experiment, number), row
        words = f"{WORDS[row['experiment']]}: {OF_HOSTS.axis_name(row['metric'])} is {row['printed']} ({row['place']})."
        low, high = float(row["low"]), float(row["high"])
        keys = {"relation": "within", "metric": row["metric"], "value": {"experiment": row["experiment"]}}
        ends = {"at_least": low, "at_most": high} if low else {"at_most": high}
        yield f"{row['experiment']}.{row['metric']}", {"says": words, **keys, **ends, **expect(ours, low, high)}
    pair = {"value": {"experiment": "tcp_static"}, "to": {"experiment": "static"}}
    walking = {"value": {"experiment": "dynamic"}, "to": {"experiment": "static_25"}}
    delay, messages = "delivery_delay_mean_s", "copies_and_acks_per_delivery"
    for (name, says, relation, metric, places, low, high), ours in zip((
        ("ratio.delay", "Flooding over TCP takes 10 times as long (V.A).", "ratio", delay, pair, 9.5, 10.5),
        ("ratio.messages", "It sends 4 times as many messages (V.A).", "ratio", messages, pair, 3.9, 4.0),
        ("ratio.sbuffer", "Its SBuffers are an order of magnitude larger (V.A).", "ratio", "station_sbuffer_mean",
         pair, 10.0, math.inf),
        ("walking", "With walking hosts the delay is 0.05 s longer (V.B).", "difference", delay, walking, 0.045, 0.055),
    ), documented[len(printed) :], strict=False):  # fmt: skip
        ends = {"at_least": low, "at_most": high} if high < math.inf else {"at_least": low}
        yield name, {
            "says": says, "relation": relation, "metric": metric, **places, **ends, **expect(ours, low, high)
        }  # fmt: skip


def documented_rows() -> list[tuple[str, str, str, str]]:
    """Return the experiment, printed number, verdict and engineering mean from each row of the document's table. The
    first rows are in the order of the file.
    """
    row = r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \| [^|]+ \| ([^|]*?) ?\| [^|]+ \| ?([^|]*?) ?\|$"
    return re.findall(row, DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)[1:]  # skip the header row


# --- Rodrigues et al. (LADC 2018)


def _bundling() -> File:
    comment = [
        "Rodrigues et al. (LADC 2018), tables 2 to 5: each printed number. A number of tables 2 to 4 holds if ours",
        "differs by at most half a unit of its last digit; one of table 5, with random crashes, if it is within 10 %.",
        "In table 5, outcomes in under half of the runs can be missed: 40 replications cannot exclude much less.",
        "Written by `python -m validation.paper_claims`. What is known not to hold is in docs/validation/vcube.md.",
    ]
    levels: Any = Study.load(STUDY).levels("bundles")
    bundles = [{"label": one["name"], **{key: v for key, v in one.items() if key != "name"}} for one in levels]
    scenario = {"scenario": "../vcube/bundling.yaml"}
    exact = scenario | {"deterministic": True}
    numbers = {"bundles": bundles, "processes": list(SIZES)}
    trees = [{"label": str(n), "workload.sources": n, "workload.messages": 16 // n} for n in (1, 2, 4, 8, 16)]
    crashes = [
        {"label": str(n), "processes": n, "random_faults": {"count": d - 1, "latest": d}}
        for n in SIZES
        for d in [(n - 1).bit_length()]
    ]
    experiments = {
        "shared": exact | {"factors": {"bundles": bundles, "trees": trees}, "set": {"processes": 16}},
        "free": exact | {"factors": numbers},
        "faulty": exact | {"factors": numbers, "set": {"faults": [{"process": "p1", "at": 0}]}},
        "random": scenario | {"first_seed": 1, "factors": {"bundles": bundles, "crashes": crashes}},
    }
    name = "Rodrigues et al. (LADC 2018), tables 2 to 5"
    content: dict[str, Any] = {"name": name, "rare": RARE, "replications": 40, "experiments": experiments}
    return comment, content | {"claims": dict(_bundling_claims())}


def _bundling_claims() -> Iterator[tuple[str, Claim]]:
    with BUNDLING.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            table, size, what = int(row["table"]), int(row["size"]), row["quantity"]
            at: dict[str, Any] = {"bundles": row["configuration"]}
            at |= {"trees": str(size)} if table == 2 else {"crashes": str(size)} if table == 5 else {"processes": size}
            short = {"fault-free": "free", "p1 faulty": "faulty", "random faults": "random"}[row["scenario"]]
            experiment = "shared" if table == 2 else short
            name = f"{table}.{size}.{row['configuration']}.{short}.{what}"
            keys: Claim = {"relation": "within", "metric": what, "value": {"experiment": experiment, "at": at}}
            printed = float(row["printed"])
            if table == 5:
                keys |= {"relation": "near", "number": printed, "percent": 10}
            else:
                half = 0.5 * 10 ** -len(row["printed"].partition(".")[2])
                keys |= {"at_least": round(printed - half, 6), "at_most": round(printed + half, 6)}
            yield name, keys | ({"expect": FAILS} if name in BUNDLING_DIFFERS else {})


# --- Rodrigues, Duarte, Arantes


def _causal() -> File:
    comment = [
        "Rodrigues, Duarte and Arantes, section 5: each printed number. The packets without aggregation are exact. Any",
        "other holds if it is within half a unit of the last printed digit and the interval of our mean.",
        "Written by `python -m validation.paper_claims`. What is known not to hold is in docs/validation/vcube.md.",
    ]
    scenario = {"scenario": "../vcube/causal.yaml", "deterministic": True}
    changes = {"factors": {"processes": list(SIZES[1:])}, "set": {"protocol.aggregate": False}}
    experiments = {"plain": scenario | changes}
    name = "Rodrigues, Duarte and Arantes, section 5"
    return comment, {"name": name, "experiments": experiments, "claims": dict(_causal_claims())}


def _causal_claims() -> Iterator[tuple[str, Claim]]:
    with CAUSAL.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            identity = f"{row['table']}/{row['size']}/{row['quantity']}"
            keys: Claim
            if row["quantity"] == "packets_plain":
                place = {"experiment": "plain", "at": {"processes": int(row["size"])}}
                printed = float(row["printed"])
                bounds = {"at_least": printed, "at_most": printed}
                keys = {"relation": "within", "metric": "packets", "value": place, **bounds}
            else:
                keys = {"relation": "published", "paper": "causal", "id": identity}
                keys |= {"largest": 1024 if row["size"] == "all" else max(128, int(row["size"]))}
                keys |= {} if identity in CAUSAL_AGREES else {"expect": FAILS}
            yield identity.replace("/", "."), keys


# --- Jeanneau et al. (JBCS 2017)


def _reliable() -> File:
    comment = [
        "Jeanneau et al. (JBCS 2017): each sentence and comparison, with 8 to 128 processes, or up to 1024 if it",
        "matters. A sentence that holds only at some sizes does not hold.",
        "Written by `python -m validation.paper_claims`. What is known not to hold is in docs/validation/vcube.md.",
    ]
    claims = {}
    with RELIABLE.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            keys: Claim = {"says": row["statement"][:500], "relation": "published", "paper": "reliable"}
            largest = 1024 if int(row["smallest"] or 0) > 128 or row["id"] in RELIABLE_FAILS_ABOVE_128 else 128
            keys |= {"id": row["id"], "largest": largest}
            claims[row["id"]] = keys | (
                {"expect": FAILS} if row["id"] in RELIABLE_FAILS | RELIABLE_FAILS_ABOVE_128 else {}
            )
    return comment, {"name": "Jeanneau et al. (JBCS 2017)", "claims": claims}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
