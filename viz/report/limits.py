"""The limits of the models, which readers should know before they trust a number. docs/models has the details."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mobilenet.record.reader import RunError

from ..figures.frames import radio_of
from ..map.record import scenario_of

MOBILE = (  # the limits of runs of hosts and stations, which are listed after those of the radio
    (
        "802.11 DCF without RTS/CTS; broadcast frames are not acknowledged. Rates, queue and retries are those of the"
        " scenario shown above."
    ),
    (
        "Stations do not fail and the links between them lose nothing, except through interventions; a crashed"
        " host recovers with its stable storage."
    ),
    (
        "Hosts move as the scenario's model or tracks specify, at constant speed between two points, and do not avoid"
        " each other."
    ),
    (
        "Delays run from the broadcast at the sender's application to the delivery at a member's; processing takes"
        " no time."
    ),
)
PROCESSES = (
    (
        "Times are in time units of the abstract network: processes send one message after another, links have a"
        " constant or drawn delay, and nothing is lost except in crashes."
    ),
    "Computing takes no time beyond the delays of the scenario.",
    "The detector's tests are real messages and are counted separately.",
)
ONE_RUN = (
    "A single run shows only one world (n = 1), so it allows no statistical inference. A study (mobilenet study)"
    " shows whether a difference is more than chance."
)


def limits_of(runs: Iterable[Path]) -> list[str]:
    """Return what the models of these runs leave out, beginning with the radios. Runs whose scenarios cannot be read
    are skipped.
    """
    radios, others = set[str](), dict[str, None]()
    for run in runs:
        with suppress(RunError):
            wireless = scenario_of(run).get("wireless")
            radios |= set() if wireless is None else {radio_of(run).limits}
            others |= dict.fromkeys(PROCESSES if wireless is None else MOBILE)
    return [*sorted(radios), *others]
