"""A run under manual control: play, pause, step, intervene, rewind, save.

Model     session.py is the run; player.py keeps its pace; server.py admits a page; commands.py and stream.py are the
          messages between the two
Source    ours: docs/guide/live.md, docs/guide/live-messages.md
"""
