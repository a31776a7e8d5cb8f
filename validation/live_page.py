"""Measure the cost of the live page in a real browser, and how long it takes to respond to a click.

    python -m validation.live_page

Model     `mobilenet live` runs at speed 1 with one page open. The CPU time is that of all processes of the browser and
          of the server over ten seconds. The time of a frame is the time to draw it without a graphics card. The time
          of a click ends with the first frame after a state that shows the effect of the click
Units     milliseconds; shares of one core
Source    ours: docs/performance.md
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import psutil

from mobilenet.lab.bench.simulator import lattice
from tests.browser import Page
from tests.conftest import SCENARIOS
from tests.lab.live.conftest import Server
from tests.lab.live.test_window import APP, LIVE, Window

WATCHED_S = 10.0
FRAMES = f"""(async () => {{
  const app = {APP}, times = [];
  for (let i = 0; i < 300; i++) {{
    await new Promise(requestAnimationFrame);
    const began = performance.now();
    app.paintForTests(began);
    times.push(performance.now() - began);
  }}
  times.sort((a, b) => a - b);
  return [times[150], times[285]];
}})()"""
CLICK = f"""(async () => {{
  const times = [];
  for (let i = 0; i < 10; i++) {{
    const count = {LIVE}.interventions.length, began = performance.now();
    {LIVE}.touch({{do: "broadcast", host: "h" + i}});
    while ({LIVE}.interventions.length === count) await new Promise(requestAnimationFrame);
    times.push(performance.now() - began);
  }}
  times.sort((a, b) => a - b);
  return [times[5], times[9]];
}})()"""


def cpu_s(processes: list[psutil.Process]) -> float:
    return sum(sum(one.cpu_times()[:2]) for one in processes if one.is_running())


def measure(hosts: int, *changes: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), str(SCENARIOS / "dynamic.yaml"), *changes)
        try:
            with Page(1400, 860) as page:
                window = Window(page, server)
                window.value(f"{LIVE}.ask({{command: 'play', speed: 1}})")
                time.sleep(2)
                browser = psutil.Process(page._process.pid)
                parts = [browser, *browser.children(recursive=True)]
                served = [psutil.Process(server.process.pid)]
                began_s, of_page, of_server = time.monotonic(), cpu_s(parts), cpu_s(served)
                time.sleep(WATCHED_S)
                lasted_s = time.monotonic() - began_s
                shares = (cpu_s(parts) - of_page) / lasted_s, (cpu_s(served) - of_server) / lasted_s
                median_ms, p95_ms = window.value(FRAMES)
                click_ms, slowest_ms = window.value(CLICK)
                print(
                    f"{hosts:5} hosts  page {shares[0]:.3f} of a core, server {shares[1]:.3f}  drawing a frame"
                    f" {median_ms:.1f} ms, p95 {p95_ms:.1f} (16)  click seen after {click_ms:.0f} ms, at most"
                    f" {slowest_ms:.0f} (100)"
                )
        finally:
            server.end()


if __name__ == "__main__":
    measure(70)
    points = ", ".join(f"[{x!r}, {y!r}]" for x, y in lattice(100))
    layout = f"stations.layout={{shape: points, points_m: [{points}]}}"
    measure(
        1000, *(part for change in ("hosts.count=1000", "workload.interval_s=60", layout) for part in ("--set", change))
    )
