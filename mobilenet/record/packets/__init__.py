"""Packets, TCP segments and connections of real software, as captured at the network devices of nodes."""
