"""The radio model in which power, noise and interference determine reception."""
