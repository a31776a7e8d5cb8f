"""Check the invariants of a simulation while it runs. A violation is a bug in mobilenet."""
