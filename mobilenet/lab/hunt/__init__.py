"""The search for faults of protocols: hostile schedules, and every order of events of a small case."""
