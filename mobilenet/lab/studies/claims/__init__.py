"""Evaluate claims, which are sentences about studies that hold, do not hold, or remain undecided."""
