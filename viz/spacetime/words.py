"""Explain each name in a space-time diagram in one short line.

Model     Outcomes and kinds of messages are explained if they occur in the picture and their names are not
          self-explanatory
Source    mobilenet/network/radio/medium.py; mobilenet/protocols/mobile_causal/messages.py, after Wilhelm, Arantes,
          Sens (2020)
"""

from __future__ import annotations

from collections.abc import Iterable

from mobilenet.why.words import OUTCOMES

KINDS = {
    "AppHs": "message from a host to its station",
    "AppSh": "message from a station to its hosts",
    "AppCo": "message for one host only, sent during its recovery",
    "App": "message between stations",
    "Init": "a host opens a session",
    "InitAck": "the station confirms the session",
    "Req1": "who has served this host?",
    "Rsp1": "answer: this station did; the messages that the host lacks",
    "Nothing": "answer to Req1: this station has nothing for the host",
    "Objection": "answer to Req1: the request is superseded",
    "Req2": "request for these messages",
    "Rsp2": "the requested messages",
}
RECEIVED = "An arrow ends where its message was received, even if the receiver ignored it."


def legend_lines(kinds: Iterable[str], outcomes: Iterable[str]) -> list[str]:
    """Return up to two lines: one explains kinds of messages, and the other explains why messages were lost."""
    lines = []
    entries = [f"{kind}: {KINDS[kind]}" for kind in KINDS if kind in set(kinds)]
    if entries:
        lines.append("; ".join(entries))
    lost = [f"{outcome.replace('_', ' ')}: {OUTCOMES[outcome]}" for outcome in OUTCOMES if outcome in set(outcomes)]
    if lost:
        lines.append("Lost. " + "; ".join(lost))
    return lines
