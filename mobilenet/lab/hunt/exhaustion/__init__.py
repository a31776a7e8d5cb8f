"""Proof by exhaustion: explore small networks in all orders of their events."""
