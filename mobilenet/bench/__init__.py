"""How fast the simulator is, in proportion to a bare event queue that is measured beside it."""
