"""Capacity: the largest or smallest value of a key at which requirements hold."""
