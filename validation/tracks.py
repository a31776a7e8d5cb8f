"""Measure the memory and time needed to read a large file of tracks: 100 MB of SUMO's XML must fit into 500 MB.

python -m validation.tracks [MB]
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CODE = """
import resource, sys
from pathlib import Path
from mobilenet.world.track_mobility import Tracks, import_tracks
path = Path(sys.argv[1])
tracks = import_tracks(Tracks(file=path.name), path.parent, 1e6)
print(len(tracks.trajectories), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def write(path: Path, megabytes: float) -> int:
    """Write a file with a thousand moving vehicles, sampled every second. Return the number of samples."""
    samples, t = 0, 0
    with path.open("w", encoding="utf-8") as file:
        size = file.write("<fcd-export>\n")
        while size < megabytes * 1e6:
            lines = [f'    <timestep time="{t:.2f}">']
            for i in range(1000):
                x, y = (
                    (t * (3 + i % 11)) % 5000 if t * (3 + i % 11) // 5000 % 2 == 0 else 5000 - t * (3 + i % 11) % 5000,
                    i * 5.0,
                )
                lines.append(
                    f'        <vehicle id="veh{i}" x="{x:.2f}" y="{y:.2f}" angle="90.00" type="DEFAULT_VEHTYPE"'
                    f' speed="{3 + i % 11:.2f}" pos="5.10" lane="1fi_0" slope="0.00"/>'
                )
            size += file.write("\n".join([*lines, "    </timestep>", ""]))
            samples, t = samples + 1000, t + 1
        file.write("</fcd-export>\n")
    return samples


def peak_mb(path: Path) -> tuple[int, int]:
    """Return (hosts, MB) for a process that reads the file as a scenario does."""
    process = subprocess.run(
        [sys.executable, "-c", CODE, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    hosts, memory = re.findall(r"\d+", process.stdout)
    return int(hosts), int(memory)


def main(megabytes: float = 100) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.fcd.xml"
        samples = write(path, megabytes)
        started = time.perf_counter()
        hosts, memory = peak_mb(path)
        print(
            f"{path.stat().st_size / 1e6:.0f} MB, {samples:,} samples, {hosts} hosts:"
            f" {time.perf_counter() - started:.1f} s, at most {memory} MB"
        )
    return 0 if memory < 500 else 1


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:])))
