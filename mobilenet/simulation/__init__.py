"""One simulated run: nodes, a network and a protocol are built from a scenario, and run.

Knows       the packages below it, but not the modules that read a run directory
"""
