"""The event queue, the kernel that runs simpy on it, timers, named random streams, and the compilation of the hot path.

Imports     The engine does not use networks or protocols.
"""
