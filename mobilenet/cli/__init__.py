"""The commands, by what people do with them. They contain no logic: they read options, call the package, and print."""

import os

# OpenBLAS with a thread per core reserves memory for each when numpy is imported. If there is none, it ends the process
# with status 1, which here means violated. One thread needs none, and our matrices are small.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
