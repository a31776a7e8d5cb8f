"""Programs under the magnifying glass: whether they are deterministic, and one of them alone with what it was told."""
