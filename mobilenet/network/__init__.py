"""Everything that carries bytes between nodes: the radio, the wires, and TCP on top of either of them.

Knows       The network uses the engine. It does not depend on protocols or on any other code that uses the network.
"""
