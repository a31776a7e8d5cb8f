"""Runs in the forms that other programs read: tables, GeoJSON, kepler.gl's trips, ShiViz's logs. Input: a run
directory.
"""
