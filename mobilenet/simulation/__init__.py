"""Build the nodes, the network and the protocol of one scenario, and run them.

Knows       The simulation depends on the packages below it, but not on the modules that read a run directory
"""
