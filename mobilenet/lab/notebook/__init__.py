"""The Python API as a notebook has it: runs and studies that draw themselves; the names of the root are these."""
