"""Search for faults in protocols, with hostile schedules or with every order of events in a small case."""
