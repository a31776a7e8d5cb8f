"""Replay programs: check that they are deterministic, or run one of them on its recorded events."""
