"""Check `frames`, `links` and `messages` for contradictions, where a run recorded them.

Checks    the tables are there if the scenario has them recorded, and only then
          each row is possible: see air/pairs.py, range.py, possible_outcomes.py, links.py, messages.py
          they add up to what was counted: see air/tallies.py
          they agree with each other and with the events: see air/same.py, heard.py, session_claims.py
Model     they are checked only where nothing else is contradicted, so positions and events are what the scenario lets
          them be. Nothing is checked in a run on the adversary's network, which records no frames
Units     integer nanoseconds
Errors    none
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Mapping

from mobilenet.expected.expectations import Air, Expectations
from mobilenet.rundir.schema import MAC_ACK
from mobilenet.rundir.table import Table
from mobilenet.verify.air.acknowledged import acknowledged_problem
from mobilenet.verify.air.arrivals import arrivals_of, arrivals_problem
from mobilenet.verify.air.causes import causes_problem
from mobilenet.verify.air.confirmed import sessions_of
from mobilenet.verify.air.handovers import handovers_problem
from mobilenet.verify.air.heard import (
    ACTS,
    DATA,
    Receptions,
    acts_problem,
    carried_problem,
    expire_problem,
    receptions_in_frames,
    receptions_in_messages,
    segments_problem,
    unheard_problem,
)
from mobilenet.verify.air.in_time import frames_in_time_problem, messages_in_time_problem
from mobilenet.verify.air.interference import interference_problem
from mobilenet.verify.air.links import links_problem
from mobilenet.verify.air.listed import listed_problem
from mobilenet.verify.air.locks import locks_problem
from mobilenet.verify.air.mac import mac_problem, retries_problem
from mobilenet.verify.air.messages import Hops, message_counts_problem, messages_problem
from mobilenet.verify.air.nodes import Nodes
from mobilenet.verify.air.numbers import numbers_problem
from mobilenet.verify.air.outages import Outages
from mobilenet.verify.air.pairs import Pairs, pairs_of, pairs_problem
from mobilenet.verify.air.positions import positions_problem
from mobilenet.verify.air.possible_outcomes import outcomes_problem, unseen_in
from mobilenet.verify.air.programs import programs_problem
from mobilenet.verify.air.range import range_problem
from mobilenet.verify.air.relays import relays_problem
from mobilenet.verify.air.same import same_problem
from mobilenet.verify.air.segment_lists import segment_lists_problem
from mobilenet.verify.air.segments import tcp_segments_problem
from mobilenet.verify.air.session_claims import session_claims_problem
from mobilenet.verify.air.tallies import Totals, UnrecordedFrames, tallies_problem
from mobilenet.verify.air.unframed import unframed_counts_problem, unframed_problem
from mobilenet.verify.air.whereabouts import Whereabouts
from mobilenet.verify.basis.evidence import Evidence

TABLES = ("frames", "links", "messages")
Problem = tuple[str, str]  # the property that is violated, and why


def air_problem(run: Evidence) -> Problem | None:
    """The first contradiction, as a property and a sentence."""
    expected, tables = run.expected, run.tables
    if tables is None or expected is None:
        return None
    if expected.air is None or expected.hosts is None or expected.places is None:
        return None
    problem = _presence_problem(tables, expected.air)
    if problem is not None:
        return "record", problem
    if not any(name in tables for name in TABLES):
        return None
    checks = _Run(run, tables, expected, expected.air, Nodes(len(expected.places.stations_m), len(expected.hosts)))
    return checks.frames_problem() or checks.messages_problem() or checks.events_problem()


def _presence_problem(tables: Mapping[str, Table], air: Air) -> str | None:
    has_links = air.frames and air.by_power
    for name, is_required in (("frames", air.frames), ("links", has_links), ("messages", air.messages)):
        if (name in tables) != is_required:
            if is_required:
                return f"{name}: the table is missing, although the scenario asks for it"
            return f"{name}: the table is present, although the scenario does not ask for it"
    return None


class _Run:
    """One run whose frames or messages are recorded."""

    def __init__(
        self, run: Evidence, tables: Mapping[str, Table], expected: Expectations, air: Air, nodes: Nodes
    ) -> None:
        self._tables = {name: tables[name] for name in TABLES if name in tables}
        self._lines = tables["lines"] if "lines" in tables and tables["lines"]["node"] else None
        self._events, self._samples, self._positions = run.events, run.samples, run.positions
        self._counters, self._end_ns, self._quiescent = run.counters, run.end_ns, run.quiescent
        self._expected, self._air, self._nodes = expected, air, nodes
        self._pairs: Pairs | None = None
        self._hops: Hops | None = None

    def frames_problem(self) -> Problem | None:
        """Check the rows of frames and links."""
        kinds = self._counters["by_message_type"]
        # a plug-in may have a message of that name, and then the rows do not show which frames are acknowledgements
        if "frames" not in self._tables or any(MAC_ACK in kinds[side] for side in ("host", "station")):
            return None
        pairs, nodes, air = pairs_of(self._tables["frames"], self._nodes, self._air), self._nodes, self._air
        if (problem := pairs_problem(pairs, nodes, air, self._end_ns)) is not None:
            return "record", problem
        self._pairs = pairs
        totals = Totals(self._samples)
        if (problem := tallies_problem(pairs, nodes, totals, self._counters)) is not None:
            return "conservation", problem
        whereabouts = Whereabouts(self._positions, self._expected, nodes)
        bounds_m = whereabouts.bounds_m(pairs.sender, pairs.receiver, pairs.start_ns)
        outages, hidden = Outages(self._events, nodes), UnrecordedFrames(pairs, totals, self._counters)
        broadcasts = len(self._events.column("event").rows("broadcast"))
        unseen = unseen_in(pairs, nodes, hidden, self._expected, broadcasts, self._end_ns)
        problem = range_problem(pairs, nodes, whereabouts, air, bounds_m, pairs)
        problem = problem or outcomes_problem(pairs, nodes, outages, unseen, self._expected)
        if problem is None and not air.by_power and not air.captures:
            problem = locks_problem(pairs, nodes, outages, unseen)
        problem = problem or mac_problem(pairs, nodes, outages, self._expected, self._counters, self._end_ns)
        if problem is None and "links" in self._tables:
            links = self._tables["links"]
            problem = links_problem(links, pairs, nodes, self._expected, bounds_m, unseen)
            problem = problem or interference_problem(links, pairs, nodes, unseen, self._expected)
        if problem is not None:
            return "record", problem
        problem = frames_in_time_problem(pairs, nodes, totals, self._counters, self._expected)
        return None if problem is None else ("conservation", problem)

    def messages_problem(self) -> Problem | None:
        """Check the rows of messages, and the two together."""
        if "messages" not in self._tables:
            return None
        hops = Hops(self._tables["messages"], self._nodes)
        problem = messages_problem(hops, self._nodes, self._expected, self._end_ns)
        if problem is not None:
            return "record", problem
        self._hops = hops
        if (problem := message_counts_problem(hops, self._nodes, self._expected, self._counters)) is not None:
            return "conservation", problem
        totals, alone = Totals(self._samples), self._pairs is None
        problem = messages_in_time_problem(hops, self._nodes, totals, self._counters, self._expected, alone)
        if problem is not None:
            return "conservation", problem
        if self._pairs is not None:
            problem = same_problem(self._pairs, hops, self._nodes, self._air)
        elif (problem := unframed_counts_problem(hops, self._nodes, self._counters)) is not None:
            return "conservation", problem
        else:
            whereabouts = Whereabouts(self._positions, self._expected, self._nodes)
            outages = Outages(self._events, self._nodes)
            problem = unframed_problem(hops, self._nodes, outages, whereabouts, self._expected)
        if problem is None and self._air.acts_on_frames and self._expected.wires is not None:
            problem = causes_problem(self._events, hops, self._nodes, self._expected.wires.is_tree)
            if problem is None and self._expected.wires.is_tree and self._expected.conduct is not None:
                problem = relays_problem(hops, self._nodes, self._expected)
        if problem is None:
            queue_drops = self._counters["radio"]["queue_drops"]
            problem = tcp_segments_problem(hops, self._nodes, self._expected, queue_drops)
            if problem is None and self._air.segmenting is not None:
                unsure = set(Outages(self._events, self._nodes).nodes)
                is_whole = self._quiescent and not queue_drops and not self._counters["wired"]["in_flight"]
                samples = Table.of(self._samples)
                problem = segment_lists_problem(hops, self._nodes, samples, unsure if is_whole else None)
        if problem is None and self._expected.conduct is not None and self._expected.conduct.numbers_once:
            problem = numbers_problem(self._events, hops)
        return None if problem is None else ("record", problem)

    def events_problem(self) -> Problem | None:
        """Check the events by what was received."""
        if self._pairs is None and self._hops is None:
            return None
        receptions, events, nodes = self._receptions(), self._events, self._nodes
        if self._lines is not None and self._hops is not None:
            untold = programs_problem(self._lines, self._hops, nodes, self._expected, self._pairs)
            if untold is not None:
                return "record", untold
        if (problem := retries_problem(events, self._pairs, nodes, self._air, self._counters)) is not None:
            return "conservation", problem
        if (problem := expire_problem(events, receptions, nodes)) is not None:
            return "gaps", problem
        if self._air.only_segments:
            problem = segments_problem(events, self._receptions(DATA), nodes)
        if not self._air.acts_on_frames:
            return None if problem is None else ("record", problem)
        acts = (acts_problem(events, event, self._receptions(kinds), nodes) for event, kinds in ACTS.items())
        problem = next(filter(None, acts), None) or unheard_problem(events, receptions, nodes)
        if problem is None and self._hops is not None:
            problem = carried_problem(events, self._hops, nodes)
        if problem is None and self._hops is not None and self._expected.conduct is not None:
            return session_claims_problem(events, self._hops, self._air.delay_ns) or self._contents_problem(self._hops)
        return None if problem is None else ("record", problem)

    def _contents_problem(self, hops: Hops) -> Problem | None:
        """Check the contents of the mobile broadcast's messages by events, samples and each other."""
        conduct, wires = self._expected.conduct, self._expected.wires
        if conduct is None or not conduct.numbers_once or wires is None or self._expected.radio is None:
            return None
        events, nodes, samples, delay_ns = self._events, self._nodes, self._samples, self._air.delay_ns
        sessions = sessions_of(events, hops, nodes, delay_ns)
        is_repeated = self._air.repeats or self._expected.radio.group_retries > 0
        problem = positions_problem(events, samples, hops, nodes, sessions, delay_ns, is_repeated)
        problem = problem or acknowledged_problem(
            events, samples, hops, nodes, sessions, delay_ns, conduct.stream_acknowledges
        )
        has_all_wires = wires.is_tree and not self._counters["wired"]["in_flight"]
        problem = problem or listed_problem(events, samples, hops, nodes, has_all_wires, is_repeated)
        if problem is not None:
            return "record", problem
        arrivals = arrivals_of(hops, nodes, self._expected, self._counters) if wires.is_tree else None
        problem = handovers_problem(events, hops, nodes, arrivals, conduct.forgets_after_s is not None)
        if problem is None and arrivals is not None:
            problem = arrivals_problem(events, samples, hops, nodes, sessions, arrivals, delay_ns)
        return None if problem is None else ("record", problem)

    def _receptions(self, kinds: tuple[str, ...] = ()) -> Receptions:
        if self._pairs is not None:
            return receptions_in_frames(self._pairs, self._nodes, self._air, kinds)
        assert self._hops is not None
        return receptions_in_messages(self._hops, self._nodes, self._air, kinds)
