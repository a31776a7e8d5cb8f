"""Check claims of papers beyond the metrics of studies: about single messages, single processes, or all sizes."""
