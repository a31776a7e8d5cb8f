"""The run directory: its columns, what records them, what writes and what reads them, and how two of them differ."""
