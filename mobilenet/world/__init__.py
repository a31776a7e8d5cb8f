"""The world, which protocols cannot see: the ground, the stations, the hosts' movement, crashes and membership, and the
messages of applications.

Knows       The world depends on the engine and on tracks, but not on networks, protocols or scenarios.
"""
