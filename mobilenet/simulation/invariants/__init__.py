"""Check, on the objects of a live run, the invariants that hold if mobilenet is correct."""
