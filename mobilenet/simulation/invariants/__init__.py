"""The invariants that hold in every run if mobilenet is correct. They are checked on the objects of a live run."""
