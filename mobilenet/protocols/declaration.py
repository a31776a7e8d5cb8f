"""A protocol's declaration: its parties, what it promises, what it needs, what is measured of it.

Model     a class with these attributes and no state. The scenario, the network and the fuzzer read it, and know nothing
          else of the protocol; the verifier reads what the scenario made of it. Built-in ones are listed in
          scenario/protocol_catalogue.py. A plug-in's class, in its own file, may set what is marked `plug-ins`
          here; what it leaves out is as here. The rest is not read of plug-ins: verifying or estimating a run never
          runs their code
Units     seconds, as the names show
Source    ours: docs/guide/plug-ins.md
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

from .base import BaseStable

Promise = Literal["causal", "fifo", "best_effort"]
Need = Literal["connections"]


class Declaration:
    """The base class of declarations. Derive from it, or give a plain class some of these attributes.

    host(port, stable, parameters, stations), station(port, wired, parameters, stations), stable(): the parties.
    `parameters`: the class of a built-in protocol's keys in a scenario; a plug-in has `settings` instead.
    """

    name: ClassVar[str] = ""
    host: ClassVar[type]  # plug-ins
    station: ClassVar[type]  # plug-ins
    stable: ClassVar[type] = BaseStable  # plug-ins
    parameters: ClassVar[type]

    # --- what it promises
    # what the verifier judges; None: only record, conservation and rest. plug-ins, but for None
    promises: ClassVar[Promise | None] = "causal"
    delivers_to_all: ClassVar[bool | None] = None  # every member gets every message; None: only if causal. plug-ins
    loses_at_any_time: ClassVar[bool] = False  # hosts may have a gap at any time, not only after they expired
    # promises of its own: functions (`promise`), or, of a built-in protocol, the module of its CHECKS. plug-ins
    checks: ClassVar[tuple[Callable[..., Any], ...] | str] = ()

    # --- what it needs
    needs: ClassVar[tuple[Need, ...]] = ()  # connections: TCP over the radio and between stations. plug-ins
    tries_again_within_s: ClassVar[float] = 10.0  # a node that waits for others; besides the waits of TCP. plug-ins
    listens: ClassVar[bool] = True  # False: no frame is handed up, which makes being heard free of cost. plug-ins

    # --- what is known of its trace
    # measured of each host and station, and empty at rest. Plug-ins: BUFFERS of host and station
    buffers: ClassVar[tuple[str, ...]] = ()
    # event -> the keys of its detail; with a question mark: it need not be there. None: nothing is known of them
    details: ClassVar[Mapping[str, tuple[str, ...]] | None] = None
    all_stations_admit: ClassVar[bool] = False  # a host joins only after every station has answered
    samples_lists: ClassVar[bool] = False  # samples how long the lists in its messages are

    # --- what follows from its parameters `p`

    @staticmethod
    def unicasts(p: Any) -> bool:
        """Return whether it sends frames that the MAC acknowledges, besides those of connections."""
        return False

    @staticmethod
    def first_join_spread_s(p: Any) -> float:
        """Return the time within which the hosts that are there from the beginning join."""
        return 0.0

    @staticmethod
    def longest_heartbeat_s(p: Any) -> float:
        """Return the longest silence of an idle host; 0: it has no heartbeat."""
        return 0.0

    @staticmethod
    def longest_wait_s(p: Any, hosts: int, frame_s: float) -> float | None:
        """Return the longest that a node waits for others until it tries again; None: not known, so a run that is not
        at rest at its deadline is never violated for that. `frame_s`: the air time of a message.
        """
        return None

    @staticmethod
    def may_not_settle(p: Any, hosts: int, round_trip_s: float, attempts: int) -> str | None:
        """Return why a run need not come to rest with these numbers; None: it has to. `round_trip_s`: over wires, to
        the farthest station and back; `attempts`: of the MAC at each frame.
        """
        return None

    @staticmethod
    def expiry_s(p: Any) -> float | None:
        """Return the silence after which a host is given up; None: never.

        plug-ins: if it is not None, the network notes silences; what their hosts may miss does not follow from it.
        """
        return None

    @staticmethod
    def longest_message_bytes(p: Any, payload_bytes: int, hosts: int, broadcasts: int) -> int | None:
        """Return the longest message that a station radios with these numbers of hosts and broadcasts; None:
        not known.
        """
        return None

    @staticmethod
    def frames_per_broadcast(p: Any, hosts: int, stations: int) -> float:
        """Return how many first copies of a message are in the air, for the estimate of how big a run becomes."""
        return 1 + stations

    @staticmethod
    def frames_per_s(p: Any, hosts: int, stations: int) -> float:
        """Return what it sends whether or not a host broadcasts, beyond a few frames per node."""
        return 0.0

    @staticmethod
    def hops_per_join(p: Any, stations: int, mean_hops: float) -> float:
        """Return how many messages on links a join causes; `mean_hops`: links between two stations, on average."""
        return 0.0

    @staticmethod
    def most_sent_again_per_s(p: Any, pending: int) -> float:
        """Return the most copies that a station radios again each second at this number of unacknowledged messages, for
        the estimate of a run that does not come to rest.
        """
        return 0.0


def fill_in(plugin: type) -> type[Declaration]:
    """Make a class that declares all of it: what `plugin` leaves out is as in Declaration."""
    if issubclass(plugin, Declaration):
        return plugin
    return type(plugin.__name__, (plugin, Declaration), {"__module__": plugin.__module__, "__doc__": plugin.__doc__})


def declare(host: Callable[..., Any], station: Callable[..., Any], stable: Callable[[], Any]) -> type[Declaration]:
    """Make a declaration of the parties only: for tests of a protocol, or of a changed one."""
    parties = {"host": staticmethod(host), "station": staticmethod(station), "stable": staticmethod(stable)}
    return type("Declared", (Declaration,), parties)
