"""Export runs for other programs: as tables, GeoJSON, trips for kepler.gl, or logs for ShiViz. The input is a run
directory.
"""
