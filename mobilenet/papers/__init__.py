"""The papers' experiments, run again, beside what the papers print."""
