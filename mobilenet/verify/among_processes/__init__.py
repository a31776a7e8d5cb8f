"""Runs of processes on an abstract network."""
