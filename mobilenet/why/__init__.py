"""Explain why a delivery was late. Its delay is divided into stretches (intervals with one cause each), which are
derived from the record of the run.
"""
