"""Search for capacity: the largest or smallest value of a scenario key at which all requirements hold."""
