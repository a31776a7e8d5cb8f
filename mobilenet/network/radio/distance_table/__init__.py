"""The radio model in which a table gives the probability of reception at each distance."""
