"""Run programs in real time, with their sockets and devices, the wall clock, and the lines that they write."""
