"""The world: the ground, the stations, the movement and failures of hosts, and their workload.

Imports     the engine and tracks, but not networks, protocols or scenarios
"""
