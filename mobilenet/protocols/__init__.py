"""The algorithms, with their papers. They meet the network only through ports (port.py).

Knows       the standard library; no clock, random stream or log
"""
