"""Judges of the promises of a broadcast among hosts."""
