"""Pictures of runs. Input: a run directory; nothing here imports the simulator."""
