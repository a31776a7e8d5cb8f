"""A run in somebody's hands: played, paused, stepped, touched, taken back, kept.

Model     session.py is the run; player.py keeps its pace; server.py lets a page in; commands.py and stream.py are what
          the two say to each other
Source    ours: docs/guide/live.md, docs/guide/live-messages.md
"""
