"""The radio model in which a frame is received with a probability that was measured for its distance."""
