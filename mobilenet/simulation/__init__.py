"""One simulated run: a scenario becomes nodes, a network and a protocol, and they play.

Knows       everything below; nothing that reads a run directory
"""
