"""The world, which protocols cannot see: the ground, the stations, the hosts' movement, crashes and membership, and the
messages of applications.

Imports     the engine and tracks, but not networks, protocols or scenarios
"""
