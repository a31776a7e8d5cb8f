"""Judge whether the network carried the IP packets of real software unchanged, and whether TCP worked correctly."""
