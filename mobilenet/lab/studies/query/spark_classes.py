"""Archive the classes that Spark loads, so that its Java starts sooner. Set-up runs this module by its name.

Model     Java spends most of Spark's starting time on reading and checking classes. This module runs a small study and
          a query. Their Java writes the loaded classes into an archive (class data sharing), and later Java processes
          map the archive into memory (java.py). An archive belongs to one Java and one PySpark. Without a usable
          archive, Spark starts as usual.
Errors    If the archive cannot be created, the module prints one line to stderr and exits with code 0.
Source    ours: docs/architecture/set-up.md
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.package_files import SCENARIOS
from mobilenet.lab.studies.declaration import Study
from mobilenet.lab.studies.java import archives, java_home, share
from mobilenet.lab.studies.query.places import runs_of
from mobilenet.lab.studies.query.spark_sql import answer, ask, views_of
from mobilenet.lab.studies.spark import spark_session
from mobilenet.lab.studies.study import run_study
from mobilenet.record.atomic_files import in_place_of

ENDS_WITHIN_S = 120  # time limit in seconds, which includes the time to write the archive
STUDY = """
scenario: {scenario}
set: {{duration_s: 2, warmup_s: 0}}
factors: {{wireless.loss: [0, 0.1]}}
replications: {{min: 2}}
"""
QUESTION = "SELECT configuration, receiver, avg(delay_s), percentile(delay_s, 0.9) FROM deliveries GROUP BY 1, 2"


def keep_classes() -> None:
    """Create the archive for this Java and PySpark unless it exists, and remove all other archives."""
    home = java_home()
    files = archives(home)
    if files is None or files[1].is_file():
        return
    began = time.monotonic()
    _say("keeping the classes that Spark loads, about 20 s")
    share().mkdir(parents=True, exist_ok=True)
    for old in share().glob("*.jsa"):
        old.unlink()
    of_java, of_spark = files
    dump = [str(home / "bin" / "java"), f"-XX:SharedArchiveFile={of_java}", "-Xshare:dump"]
    subprocess.run(dump, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    with in_place_of(of_spark) as partial:
        _load_classes(f"-XX:SharedArchiveFile={of_java} -XX:ArchiveClassesAtExit={partial} -Xlog:disable")
    _say(f"kept in {time.monotonic() - began:.0f} s")


def _load_classes(java_options: str) -> None:
    """Start a Java with these options, perform the work of studies and queries, and let Java end."""
    from pyspark import SparkContext

    with scratch_folder("java") as folder:
        file, out = folder / "study.yaml", folder / "out"
        file.write_text(STUDY.format(scenario=SCENARIOS / "first.yaml"), encoding="utf-8")
        with spark_session("local[2]", java_options=java_options) as session:
            run_study(Study.load(file), out, session, lambda standing: None)
            runs = runs_of(out)
            with views_of(runs, session) as views:
                answer(ask(views, session, QUESTION))
        gateway: Any = SparkContext._gateway
        gateway.proc.stdin.close()  # The Java process ends when its input is closed, and then writes the archive.
        gateway.proc.wait(ENDS_WITHIN_S)


def _say(text: str) -> None:
    print("mobilenet: " + text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        keep_classes()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as problem:  # Set-up continues without the archive, whatever the error is.
        _say(f"not kept, so Spark starts a few seconds later: {' '.join(str(problem).split())[:200]}")
