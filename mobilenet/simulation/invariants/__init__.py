"""Check a simulation while it runs for violations of invariants. A violation means that mobilenet itself has an
error.
"""
