"""The radio model in which power, noise and interference decide about reception."""
