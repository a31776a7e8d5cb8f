"""Run programs in real time: their sockets and devices, the wall clock, and the lines that report what they do."""
