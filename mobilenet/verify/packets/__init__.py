"""IP packets of real software: whether the network carried them unchanged, and whether TCP saw what it should."""
