"""What no protocol sees: ground and stations, how hosts move, who crashes, joins and leaves, and what applications
send.

Knows       the engine and tracks; nothing of networks, protocols or scenarios
"""
