"""The lab creates, compares and packs many runs, and communicates with people and programs. The core works without the
lab.
"""
