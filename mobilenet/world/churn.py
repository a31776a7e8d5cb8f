"""Decide when hosts join and leave during the run.

Model     Changes are random or listed. Random: some hosts are not members at the beginning; members leave and return
          after exponentially distributed times. Listed: the list is complete for the hosts that it contains,
          and a host whose first entry is `join` is not a member at the beginning. Membership does not change after
          the active part of the run. Hosts from imported tracks also join and leave with their tracks.
Units     Parameters are in seconds, and changes in integer nanoseconds.
Source    ours: docs/models/world.md
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from mobilenet.engine.clock import MILLISECOND, ns
from mobilenet.engine.random_streams import Stream
from mobilenet.parameters import HostName, Parameters, number

Kind = Literal["join", "leave"]
ASKED_AGAIN_NS = 100 * MILLISECOND  # the interval at which a refused request to join or leave is repeated


class Change(NamedTuple):
    at_ns: int
    host: int
    kind: Kind


class Plan(NamedTuple):
    absent_at_start: frozenset[int]  # hosts that are not members at the beginning
    changes: list[Change]  # in chronological order; joins and leaves of each host alternate


class ListedChange(Parameters):
    """An entry in the list of changes: one host joins or leaves."""

    host: HostName = Field(description="host that joins or leaves")
    at_s: float = Field(ge=0, le=1e6, description="time of the change")
    kind: Kind = Field(
        description="join or leave, alternating for each host; a host whose first change is 'join' is absent until then"
    )


class ChurnParameters(Parameters):
    """Parameters that determine when hosts join and leave during the run."""

    leave_rate_per_host_per_min: float = Field(
        default=0.0,
        ge=0,
        le=600,
        description="mean number of departures per minute of membership; stays are exponentially distributed",
    )
    mean_away_s: float = Field(
        default=30.0,
        gt=0,
        le=1e6,
        description="mean time until a host that has left joins again; absences are exponentially distributed",
    )
    initial_fraction: float = Field(
        default=1.0, ge=0, le=1, description="probability that a host is a member at the beginning"
    )
    changes: tuple[ListedChange, ...] = Field(
        default=(),
        max_length=100_000,
        description="list of changes; hosts in this list join and leave only at the listed times",
    )

    @model_validator(mode="after")
    def _require_alternation(self) -> ChurnParameters:
        last: dict[str, ListedChange] = {}
        for change in sorted(self.changes, key=lambda change: change.at_s):
            before = last.get(change.host)
            if before and (before.kind == change.kind or before.at_s == change.at_s):
                raise ValueError(
                    f"changes: {change.host} at {change.at_s:g} s: join and leave should alternate in time"
                )
            last[change.host] = change
        return self


NO_CHURN = Plan(frozenset(), [])


def changes(parameters: ChurnParameters | None, seed: int, hosts: int, end_ns: int) -> Plan:
    """Return all changes before `end_ns`, in chronological order."""
    if parameters is None:
        return NO_CHURN
    listed: dict[int, list[Change]] = {}
    for entry in sorted(parameters.changes, key=lambda entry: entry.at_s):
        host = number(entry.host)
        listed.setdefault(host, []).append(Change(ns(entry.at_s), host, entry.kind))
    absent: set[int] = set()
    all_changes: list[Change] = []
    for host in range(hosts):
        own = listed.get(host) or _random(parameters, Stream(seed, "churn", f"h{host}"), host, end_ns)
        if own and own[0].kind == "join":
            absent.add(host)
        all_changes += [change for change in own if change.at_ns < end_ns]
    return Plan(frozenset(absent), sorted(all_changes))


def _random(parameters: ChurnParameters, stream: Stream, host: int, end_ns: int) -> list[Change]:
    """Return the changes of a host, including the first one after the end. The kind of this last change determines the
    host's initial state.
    """
    member = stream.random() < parameters.initial_fraction
    drawn_changes: list[Change] = []
    at_ns = 0
    while at_ns < end_ns:
        if member and parameters.leave_rate_per_host_per_min == 0:
            break
        mean_s = 60 / parameters.leave_rate_per_host_per_min if member else parameters.mean_away_s
        at_ns += max(MILLISECOND, ns(stream.exponential(mean_s)))
        drawn_changes.append(Change(at_ns, host, "leave" if member else "join"))
        member = not member
    return drawn_changes
