"""The invariants that hold in every run if mobilenet itself is right, checked on the live objects."""
