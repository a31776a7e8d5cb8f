"""Check whether programs are deterministic, and replay one of them against its recorded events."""
