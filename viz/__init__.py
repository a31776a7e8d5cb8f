"""Pictures of runs and studies, drawn from their records."""
