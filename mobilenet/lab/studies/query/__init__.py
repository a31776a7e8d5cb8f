"""Query the records of many runs through views for SQL, Arrow and pandas."""
