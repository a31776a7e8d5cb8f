"""Run programs in any language as hosts, stations and processes: start them, send them events, carry out their actions,
and end them.
"""
