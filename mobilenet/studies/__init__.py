"""Studies: many runs of one scenario under different factors, on Spark, and what they say together."""
