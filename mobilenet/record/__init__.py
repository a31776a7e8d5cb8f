"""The run directory: its schema, the code that records, writes and reads it, and the comparison of two runs."""
