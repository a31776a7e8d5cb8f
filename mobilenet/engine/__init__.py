"""Time, order and chance: the event queue, simpy's kernel over it, timers, named random streams, and the compiled hot
path.

Knows       nothing of networks or protocols
"""
