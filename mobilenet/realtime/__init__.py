"""Programs that talk UDP, in real time: sockets, a clock on the wall, and lines that tell what programs do."""
