"""The radio model in which distance determines reception."""
