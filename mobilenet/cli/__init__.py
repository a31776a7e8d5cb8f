"""The commands, by what people do with them. No logic: they read options, call the package, and print."""

import os

# OpenBLAS with a thread per core takes memory for each when numpy is imported; where there is none it ends the process
# by itself with status 1, which here means violated. With one it does without, and our matrices are small.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
