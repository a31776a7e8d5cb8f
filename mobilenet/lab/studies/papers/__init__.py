"""The papers' experiments, run again, and compared with what the papers print."""
