"""Time, order and chance: the event queue, the kernel that runs simpy on it, timers, named random streams, and the
compiled hot path.

Knows       neither networks nor protocols
"""
