"""Checks claims about papers that go beyond the metrics of studies: single messages and processes, and sentences about
all sizes.
"""
