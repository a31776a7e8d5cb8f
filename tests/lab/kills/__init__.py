"""Checks that a command killed at any moment leaves no incomplete files."""
