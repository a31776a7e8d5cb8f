"""The radio model in which distances decide about reception."""
