"""Build the nodes, the network and the protocol of one scenario, and run them.

Imports     The simulation imports the packages below it, but not the modules that read a run directory
"""
