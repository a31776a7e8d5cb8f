"""Experiments: what is run many times, or in all ways, to learn something about a protocol."""
