"""The lab: code that creates, compares or packs many runs, or communicates with people and programs. The core runs
without it.
"""
