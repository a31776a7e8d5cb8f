"""One simulated run: a scenario is turned into nodes, a network and a protocol, and run.

Knows       everything below; nothing that reads a run directory
"""
