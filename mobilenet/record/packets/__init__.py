"""The IP packets of real software as they passed the devices of nodes: packets, TCP segments, connections."""
