"""The judge itself: logs it must reject, and some it must not."""

import pytest

from mobilenet.record import EventLog

from .oracle import judge


def log(*events: str) -> EventLog:
    """'h0 deliver h1:0', one after the other."""
    result = EventLog()
    for time, line in enumerate(events):
        node, event, *message = line.split()
        result.add(time, node, event, *message)
    return result


BOTH = ("h0 join", "h1 join")
SENT = (*BOTH, "h0 broadcast h0:0", "h0 deliver h0:0", "h0 broadcast h0:1", "h0 deliver h0:1")


@pytest.mark.parametrize(
    ("word", "events"),
    [
        ("creation", (*BOTH, "h0 deliver h1:0")),
        ("creation", ("h0 join", "h0 broadcast h0:0", "h0 deliver h0:0", "h0 broadcast h0:0")),
        ("membership", ("h0 join", "h0 broadcast h0:0", "h0 deliver h0:0", "h1 deliver h0:0")),
        ("duplication", (*SENT, "h1 deliver h0:0", "h1 deliver h0:1", "h1 deliver h0:0")),
        ("duplication", (*SENT, "h1 deliver h0:0", "h1 deliver h0:1", "h1 leave", "h1 join", "h1 deliver h0:1")),
        ("order", (*SENT, "h1 deliver h0:1", "h1 deliver h0:0")),
        ("order", (*SENT, "h1 deliver h0:1")),
        ("order", (*SENT, "h1 deliver h0:1", "h1 leave")),
        ("loss", (*SENT, "h1 deliver h0:0")),
        ("loss", (*BOTH, "h0 broadcast h0:0", "h0 gap", "h1 deliver h0:0", "h0 broadcast h0:1")),
    ],
)
def test_rejected(word: str, events: tuple[str, ...]) -> None:
    wrong = judge(log(*events))
    assert wrong and wrong[0].startswith(word)


@pytest.mark.parametrize(
    "events",
    [
        (*SENT, "h1 deliver h0:0", "h1 deliver h0:1"),
        (*SENT, "h1 deliver h0:0", "h1 leave"),
        (*SENT, "h1 gap"),
        (*SENT, "h1 gap", "h1 deliver h0:1"),
        (*SENT, "h2 join", "h1 deliver h0:0", "h1 deliver h0:1"),
        (*BOTH, "h0 broadcast h0:0", "h0 gap"),  # given up by its broadcaster
    ],
)
def test_accepted(events: tuple[str, ...]) -> None:
    assert judge(log(*events)) == []
