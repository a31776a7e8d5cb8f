"""TCP: a reliable, ordered stream of messages over any network that loses, repeats and reorders packets."""
