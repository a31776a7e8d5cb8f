"""Files of tracks and sites that come from other programs. There is a module for each format, and read.py chooses among
them.
"""
