"""The world, which protocols do not see: ground, stations, movement, crashes, joins and leaves, and what applications
send.

Knows       the engine and tracks; nothing of networks, protocols or scenarios
"""
