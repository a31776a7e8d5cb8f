"""Sensitivity: which settings matter? Morris screening, as a study."""
