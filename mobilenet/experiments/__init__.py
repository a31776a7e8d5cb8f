"""More than one run: studies on Spark, reproductions of papers, fuzzing campaigns, benchmarks."""
