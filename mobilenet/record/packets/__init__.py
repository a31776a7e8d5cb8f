"""The IP packets of real software, as they passed the network devices of nodes: packets, TCP segments and
connections.
"""
