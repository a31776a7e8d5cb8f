"""The algorithms, beside their papers. They meet the network through ports (port.py) and nothing else.

Knows       the standard library; no clock, no random stream and no log of its own
"""
