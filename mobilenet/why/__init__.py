"""Explain why a delivery was late, by dividing its delay into intervals with one cause each."""
