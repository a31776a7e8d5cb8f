"""The lab creates, compares and packs many runs, and interacts with people and programs. The core does not need the
lab.
"""
