"""Proof by exhaustion: small networks explored in all orders of their events."""
