"""The commands, grouped by purpose. They contain no logic: they read options, call the package, and print the
results.
"""

import os

# When numpy is imported, OpenBLAS reserves memory for a thread on each core. If this memory is not available, it ends
# the process with status 1, which here means violated. One thread does not need such memory, and is sufficient for
# small matrices.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
