"""The radio model in which the probability of reception depends on the distance, according to a table of
measurements.
"""
