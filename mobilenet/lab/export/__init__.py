"""Export runs for other programs: as tables, GeoJSON, kepler.gl's trips, ShiViz's logs. The input is a
run directory.
"""
