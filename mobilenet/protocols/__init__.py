"""The broadcast protocols, each written after its paper. They reach the network only through ports (port.py).

Knows       the standard library; protocols use no clock, random stream or log of their own
"""
