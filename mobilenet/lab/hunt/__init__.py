"""Search for faults of protocols: by hostile schedules, and by every order of the events of a small case."""
