"""Replay programs: check whether they are deterministic, and run one of them on its recorded events."""
