"""The commands, which read options, call the package and print the results."""

import os

# When numpy is imported, OpenBLAS reserves memory for one thread per core. If this fails, OpenBLAS ends the process
# with status 1, which here means violated. A single thread avoids this and is sufficient for small matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
