"""What follows from a scenario before it runs: what its run promises, and what the record is held to."""
