"""Whether a command that is killed at any moment leaves anything half-written."""
