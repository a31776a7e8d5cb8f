"""The run directory: its columns, the code that records, writes and reads them, and how two of them differ."""
