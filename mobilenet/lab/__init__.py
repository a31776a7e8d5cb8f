"""The lab: the code that makes, compares or packs many runs, or talks to people and programs. The core runs
without it.
"""
