"""Search for faults in protocols, with hostile schedules and with every order of the events of a small case."""
