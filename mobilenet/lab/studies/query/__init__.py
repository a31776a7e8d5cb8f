"""Query the records of many runs: views that SQL, Arrow and pandas read."""
