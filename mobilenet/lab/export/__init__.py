"""Export run directories for other programs: tables, GeoJSON, trips for kepler.gl, or logs for ShiViz."""
