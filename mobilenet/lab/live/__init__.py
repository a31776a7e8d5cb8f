"""Runs under manual control: play, pause, step, intervene, rewind and save.

Model     session.py contains the run; player.py controls its pace; server.py serves the page; commands.py and
          stream.py define the messages between page and run
Source    ours: docs/guide/live.md, docs/guide/live-messages.md
"""
