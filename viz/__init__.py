"""Pictures of runs and studies, from what they recorded."""
