"""The wire between stations: FIFO links, and the tree they make."""
