"""Programs that use UDP, in real time: sockets, the wall clock, and lines that report what programs do."""
