"""Derive from a scenario, before it runs, what its run promises and what the record must show."""
