"""The world, which protocols cannot see: the ground, the stations, the movement of hosts, crashes, joins and leaves,
and the messages that applications send.

Knows       The world uses the engine and tracks. It does not depend on networks, protocols or scenarios.
"""
