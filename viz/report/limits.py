"""What a reader must know of the models before believing a number; the long version is docs/models."""

from __future__ import annotations

from mobilenet.metrics.registry import OF_PROCESSES, Vocabulary
from mobilenet.scenario.radio_words import Radio

MOBILE = (  # after those of the radio
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


def limits_of(words: Vocabulary, radios: list[type[Radio]]) -> tuple[str, ...]:
    """`radios`: the radio models of the runs."""
    if words is OF_PROCESSES:
        return PROCESSES
    return (*sorted({radio.limits for radio in radios}), *MOBILE)
