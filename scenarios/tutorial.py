"""A first question, from Python: what does a lossy radio cost?

Run the file as it is (python scenarios/tutorial.py), or cell by cell in a notebook or in an editor that supports
`# %%`. It takes about a minute and writes to a temporary folder.
"""

# %% One run: six hosts in three cells, half a minute
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from mobilenet.viz.map import draw
from scipy import stats

import mobilenet

HERE = Path(__file__).parent if "__file__" in globals() else Path("scenarios")
FOLDER = Path(mkdtemp(prefix="mobilenet-tutorial-"))

run = mobilenet.run(HERE / "first.yaml", seed=3, out=FOLDER / "first")
print(run)

# %% Every record is a table. How many messages did each host deliver?
delivered = run.events[run.events.event == "deliver"].groupby("node").size()
print(delivered)

# %% The same world with a lossy radio: same walks, same messages; the verdict changes only if a promise is broken
lossy = mobilenet.run(HERE / "first.yaml", seed=3, out=FOLDER / "lossy", overrides=["wireless.loss=0.3"])
print(lossy.verdict, run.metrics["delivery_delay_mean_s"], "->", lossy.metrics["delivery_delay_mean_s"])
assert lossy.verdict == run.verdict == "valid"

# %% One world is little evidence. Eight paired worlds: the difference and its confidence interval
differences = []
for seed in range(1, 9):
    pair = [
        mobilenet.run(
            HERE / "first.yaml", seed=seed, out=FOLDER / f"{loss}-{seed}", overrides=[f"wireless.loss={loss}"]
        )
        for loss in (0, 0.3)
    ]
    delays = [one.metrics["delivery_delay_mean_s"] for one in pair]
    differences.append(delays[1] - delays[0])
half = stats.t.ppf(0.975, len(differences) - 1) * np.std(differences, ddof=1) / np.sqrt(len(differences))
print(f"30 % of loss costs {np.mean(differences):.3f} ± {half:.3f} s of delay (95 %, {len(differences)} worlds)")

# %% Draw the lossy run on a map
draw(lossy.path, FOLDER / "lossy.html")
print("Next: open", FOLDER / "lossy.html")
