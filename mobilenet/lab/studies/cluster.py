"""Start a small Spark cluster on this machine: a standalone master and its workers, on the loopback interface.

    python -m mobilenet.lab.studies.cluster [--workers 2] [--port 7077]

Model     Master and workers are child processes of this process, and end with it. Executors start with an empty
          PYTHONPATH, as they would on other machines. A client that may run a study on the cluster can run any code.
          Therefore the master accepts only clients that know a secret, which is created for this cluster. The secret is
          in the file spark-defaults.conf of a folder that only its owner can read. SPARK_CONF_DIR names this folder.
Errors    Prints one line and exits with code 3 if a process of the cluster does not start within a minute.
Source    ours: docs/guide/studies.md
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from mobilenet.engine.scratch import scratch_folder
from mobilenet.lab.studies import StudyError
from mobilenet.lab.studies.java import ends_with_its_parent, java_home
from mobilenet.lab.studies.spark import QUICK_TO_START
from mobilenet.quoting import pluralize, quote

STARTS_WITHIN_S = 60.0
MASTER_READY = "I have been elected leader"
WORKER_READY = "Successfully registered with master"


@contextmanager
def cluster(workers: int = 2, port: int = 7077) -> Iterator[tuple[str, list[subprocess.Popen[bytes]], Path]]:
    """Yield the URL of the master, the worker processes, and the SPARK_CONF_DIR that clients need."""
    url = f"spark://127.0.0.1:{port}"
    with scratch_folder("cluster") as folder, ExitStack() as stack:
        settings = folder / "conf"
        settings.mkdir(mode=0o700)
        (settings / "spark-defaults.conf").write_text(
            f"spark.authenticate true\nspark.authenticate.secret {secrets.token_hex(32)}\n", encoding="utf-8"
        )
        start = _starter(stack, folder, settings)
        start("master", "master.Master", MASTER_READY, "--port", str(port))
        limits = ("--cores", "1", "--memory", "1g")
        started = [
            start(f"worker-{n}", "worker.Worker", WORKER_READY, *limits, "--work-dir", f"{folder}/work-{n}", url)
            for n in range(workers)
        ]
        yield url, started, settings


def _starter(stack: ExitStack, folder: Path, settings: Path) -> Callable[..., subprocess.Popen[bytes]]:
    import pyspark

    home = Path(str(pyspark.__file__)).parent
    environment = {
        **os.environ, "SPARK_HOME": str(home), "JAVA_HOME": str(java_home()), "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": QUICK_TO_START, "PYTHONPATH": "",
        "PYSPARK_PYTHON": sys.executable, "SPARK_CONF_DIR": str(settings),
    }  # fmt: skip

    def start(name: str, part: str, ready: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = stack.enter_context((folder / f"{name}.log").open("w+", encoding="utf-8"))
        command = [f"{home}/bin/spark-class", f"org.apache.spark.deploy.{part}", "--host", "127.0.0.1"]
        process = subprocess.Popen(
            [*command, "--webui-port", "0", *arguments], stdout=log, stderr=subprocess.STDOUT, env=environment,
            start_new_session=True, preexec_fn=ends_with_its_parent,
        )  # fmt: skip
        stack.callback(_end, process)
        _await(name, process, log, ready)
        return process

    return start


def _await(name: str, process: subprocess.Popen[bytes], log: IO[str], ready: str) -> None:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < deadline:
        log.seek(0)
        output = log.read()
        if ready in output:
            return
        if process.poll() is not None:
            last = [line for line in output.splitlines() if line.strip()][-1:] or ["no output"]
            raise StudyError(f"the cluster's {name} ended: {last[0][:200]}")
        time.sleep(0.2)
    raise StudyError(f"the cluster's {name} did not start within {STARTS_WITHIN_S:.0f} s")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all of its child processes."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(10)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--port", type=int, default=7077)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with cluster(options.workers, options.port) as (url, processes, settings):
            print(f"running: a master and {pluralize(len(processes), 'worker')}; press Ctrl-C to stop them", flush=True)
            again = f"mobilenet study scenarios/studies/static_comparison.yaml --master {url}"
            print(f"Next: SPARK_CONF_DIR={quote(settings)} {again}", flush=True)
            while all(process.poll() is None for process in processes):
                time.sleep(0.5)
            print("a worker has ended; the others continue. Press Ctrl-C to stop them", flush=True)
            signal.pause()
    except KeyboardInterrupt:
        pass
    except StudyError as error:
        print(error, file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    main()
