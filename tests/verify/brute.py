"""An oracle that implements the definitions of causal broadcast with membership literally.

Model     The oracle uses sets of pairs of events in a trace. Happened-before is the transitive closure of "same host,
          earlier" and "broadcast before its delivery". Every rule is a loop over all pairs, which is slow but
          obviously correct. A `reset` is a gap in the deliveries of a host that all stations have forgotten.
Shapes    judge(rows, gaps) -> the names of the violated properties; rows: (host, event, message or None)
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Sequence

Row = tuple[str, str, str | None]
GAPS = ("gap", "reset")


def happened_before(rows: Sequence[Row], counts: set[int]) -> set[tuple[int, int]]:
    """Return the pairs (a, b) of rows in which a happened before b. `counts` contains the valid broadcasts and the
    first deliveries.
    """
    pairs = set()
    for a in counts:
        for b in counts:
            if a < b and (
                rows[a][0] == rows[b][0]
                or (rows[a][1], rows[b][1]) == ("broadcast", "deliver")
                and rows[a][2] == rows[b][2]
            ):
                pairs.add((a, b))
    for middle in sorted(counts):  # Warshall's algorithm
        before = {a for a, b in pairs if b == middle}
        after = {b for a, b in pairs if a == middle}
        pairs |= {(a, b) for a in before for b in after}
    return pairs


def judge(rows: Sequence[Row], gaps_allowed: bool) -> set[str]:
    violated: set[str] = set()
    member: dict[str, bool] = {}
    down: dict[str, bool] = {}
    since: dict[str, int] = {}  # host -> first row from which the host is entitled to messages
    # row of a delivery -> first row from which its host was entitled to messages at that time
    entitled_from: dict[int, int] = {}
    sent: dict[str, int] = {}  # message -> row of its broadcast
    got: dict[tuple[str, str], int] = {}  # (host, message) -> row of its first delivery
    resets = [row for row, (_, event, _) in enumerate(rows) if event == "reset" and gaps_allowed]
    for row, (host, event, message) in enumerate(rows):
        is_in, is_down = member.get(host, False), down.get(host, False)
        if event == "join" and is_in or event in ("leave", *GAPS) and not is_in:
            violated.add("membership")
        if event in ("join", "leave", *GAPS, "crash") and is_down or event == "recover" and not is_down:
            violated.add("membership")
        if event == "join" and not is_in:
            member[host], since[host] = True, row
        elif event == "leave":
            member[host] = False
        elif event == "crash":
            down[host] = True
        elif event == "recover":
            down[host] = False
        elif event in GAPS and is_in and not is_down:
            if gaps_allowed:
                since[host] = row
            else:
                violated.add("gaps")
        elif event == "broadcast":
            if not _number_fits(host, message, sent):
                violated.add("creation")
                continue
            sent[str(message)] = row
            if is_down or not is_in:
                violated.add("membership")
        elif event == "deliver":
            if message not in sent:
                violated.add("creation")
            elif (host, message) in got:
                violated.add("duplication")
            else:
                got[host, str(message)] = row
                entitled_from[row] = since.get(host, -1)
                if is_down or not is_in:
                    violated.add("membership")
    delivered = {message for _, message in got}
    got_through = {row: rows[row][0] for message, row in sent.items() if message in delivered}
    given_up = {
        message for message, row in sent.items()
        if message not in delivered
        and any(reset > row and rows[reset][0] == rows[row][0]
                and not any(row < other < reset and host == rows[row][0] for other,
                host in got_through.items()) for reset in resets)
    }  # fmt: skip
    owed = {message: row for message, row in sent.items() if message not in given_up}
    before = happened_before(rows, {*sent.values(), *got.values()})
    for (host, late), at in got.items():
        for early, row in owed.items():
            if (row, sent[late]) in before:
                seen = got.get((host, early))
                if seen is None and row > entitled_from[at] or seen is not None and seen > at:
                    violated.add("causal_order")
    for host, is_in in member.items():
        if is_in and any(row > since[host] and (host, message) not in got for message, row in owed.items()):
            violated.add("delivery")
    return violated


def _number_fits(host: str, message: str | None, sent: dict[str, int]) -> bool:
    own = [known for known in sent if known.startswith(f"{host}:")]
    return message == f"{host}:{len(own)}"
