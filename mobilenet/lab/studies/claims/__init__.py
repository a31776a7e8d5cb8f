"""Evaluates claims: sentences about studies, each answered with "holds", "does not hold" or "undecided"."""
