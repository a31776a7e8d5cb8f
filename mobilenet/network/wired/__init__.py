"""The wires between stations: FIFO links, and the tree or graph that they form."""
