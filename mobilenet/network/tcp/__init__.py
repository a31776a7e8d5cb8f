"""TCP: a reliable, ordered stream of messages over anything that loses, repeats and reorders what it carries."""
