"""Judges of the lines that the emulator and programs exchange."""
