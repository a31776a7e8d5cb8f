"""What carries bytes between nodes: the radio, the wires, and TCP above either.

Knows       the engine; neither protocols nor users of the network
"""
