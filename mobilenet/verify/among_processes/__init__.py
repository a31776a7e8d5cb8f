"""The judges of runs of processes on an abstract network."""
