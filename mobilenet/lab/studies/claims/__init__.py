"""Claims: sentences about studies, answered with holds, does not hold, or undecided."""
