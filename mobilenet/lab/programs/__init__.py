"""Programs in any language as hosts, stations and processes: start them, notify them of events, ask them for actions,
and end them.
"""
