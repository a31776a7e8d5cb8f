"""Queries the records of many runs through views that SQL, Arrow and pandas can read."""
