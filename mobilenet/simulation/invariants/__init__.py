"""Check a simulation for violations of invariants while it runs. A violation means that mobilenet itself has an
error.
"""
