"""What a run's events must satisfy, computed from the events alone.

Model     sets of messages are integers used as bit sets; a message's past is what its broadcaster had delivered or
          broadcast. "h1:0 after h2:3" is wrong at a host when h1:0 is in the past of h2:3, in whichever life
Shapes    judge(log) -> sentences, empty if nothing is wrong
Source    ours: DESIGN.md §3
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Member:
    inside: bool = False
    delivered: int = 0
    known: int = 0  # its causal past: broadcast or delivered
    shut: int = 0  # pasts of all it delivered: too late for these
    entitled: int = 0  # broadcast since it joined, or since its last gap
    needed: int = 0  # pasts of what it delivered, as far as entitled to at that time
    own_pending: int = 0  # own messages not seen at home yet


def judge(log: Any) -> list[str]:
    wrong: list[str] = []
    bits: dict[str, int] = {}
    past: dict[str, int] = {}
    members: dict[str, Member] = {}
    excused = 0  # given up by their broadcaster in a gap
    for node, event, name in zip(log.node, log.event, log.message, strict=True):
        m = members.setdefault(node, Member())
        if event == "join":
            if m.inside:
                wrong.append(f"order: {node} joins twice")
            m.inside, m.entitled = True, 0
        elif event == "leave":
            m.inside, m.entitled = False, 0
        elif event == "gap":
            m.entitled = 0
            excused |= m.own_pending
        elif event == "broadcast":
            if name in bits:
                wrong.append(f"creation: {name} broadcast twice")
                continue
            bits[name] = bit = 1 << len(bits)
            past[name] = m.known
            m.known |= bit
            m.own_pending |= bit
            for other in members.values():
                if other.inside:
                    other.entitled |= bit
        elif event == "deliver":
            if name not in bits:
                wrong.append(f"creation: {node} delivers {name}, never broadcast")
                continue
            bit = bits[name]
            if not m.inside:
                wrong.append(f"membership: {node} delivers {name} while it is no member")
            if m.delivered & bit:
                wrong.append(f"duplication: {node} delivers {name} again")
            elif m.shut & bit:
                wrong.append(f"order: {node} delivers {name} after a message that depends on it")
            m.delivered |= bit
            m.known |= bit
            m.shut |= past[name]
            m.needed |= past[name] & m.entitled
            m.own_pending &= ~bit
    anywhere = 0
    for m in members.values():
        anywhere |= m.delivered
    excused &= ~anywhere
    for node, m in members.items():
        if holes := m.needed & ~m.delivered & ~excused:
            wrong.append(f"order: {node} never delivers {_names(bits, holes)}, though messages that depend on it")
        elif m.inside and (lost := m.entitled & ~m.delivered & ~excused):
            wrong.append(f"loss: {node} never delivers {_names(bits, lost)}")
    return wrong


def _names(bits: dict[str, int], some: int) -> str:
    return ", ".join(name for name, bit in bits.items() if bit & some)
