"""Sentences about studies, answered: holds, does not hold, undecided."""
