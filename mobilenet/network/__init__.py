"""Everything that carries bytes between nodes: the radio, the wires, and TCP on top of either of them.

Knows       The network depends on the engine, but not on protocols or other code that uses the network.
"""
