"""What claims on papers need beyond metrics of studies: single messages and processes, and sentences on all sizes."""
