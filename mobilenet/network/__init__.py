"""Everything that carries bytes between nodes: the radio, the wires, and TCP on top of either of them.

Imports     The network uses the engine, but not protocols or other code that uses the network.
"""
