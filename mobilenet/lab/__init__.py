"""The lab: make, compare and pack many runs, and connect runs to people and programs."""
