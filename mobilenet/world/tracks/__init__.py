"""The files that people bring along: tracks and sites, as other programs write them. Each format is a module; read.py
knows them all.
"""
