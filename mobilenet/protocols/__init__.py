"""Broadcast protocols, beacons and relays. They access the network only through ports (port.py).

Knows       Protocols take the time and random numbers from their ports, and write no log
"""
