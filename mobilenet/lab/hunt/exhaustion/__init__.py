"""Proof by exhaustion: small networks are explored in all orders of their events."""
