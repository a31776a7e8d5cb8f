"""A protocol's declaration: its classes, its promises, its requirements and its measurements.

Model     a declaration is a class with these attributes and no state. The scenario, the network and the fuzzer know a
          protocol only through its declaration; the verifier reads what the scenario derived from it. Built-in
          declarations are listed in scenario/protocol_catalogue.py. A plug-in is a class in the user's own file. It may
          set the attributes whose comments say so. Those that it leaves out have the defaults below. All its other
          attributes are ignored, so that verifying or estimating a run never executes its code. The verifier knows no
          message of any protocol: of messages between nodes, it checks only how many of each class were sent, received
          and lost, and of what an application broadcasts, only the names in the record of events
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

    host(port, stable, parameters, stations), station(port, wired, parameters, stations) and stable() create the hosts,
    the stations and the hosts' stable state. `parameters` is the class of a built-in protocol's keys in a scenario; a
    plug-in has `settings` instead.
    """

    name: ClassVar[str] = ""
    host: ClassVar[type]  # plug-ins set this
    station: ClassVar[type]  # plug-ins set this
    stable: ClassVar[type] = BaseStable  # plug-ins may set this
    parameters: ClassVar[type]

    # --- what it promises
    # The promise that the verifier checks. With None, it checks only the record, conservation and whether the run
    # settles. Plug-ins may set this, but not to None.
    promises: ClassVar[Promise | None] = "causal"
    # Whether every member receives every message. With None, only if the protocol is causal. Plug-ins may set this.
    delivers_to_all: ClassVar[bool | None] = None
    # Whether hosts may have a gap at any time, instead of only after a station gave up on them.
    loses_at_any_time: ClassVar[bool] = False
    # Additional promises: functions marked with `promise` or, for a built-in protocol, the module that contains CHECKS.
    # Plug-ins may set this.
    checks: ClassVar[tuple[Callable[..., Any], ...] | str] = ()

    # --- what it needs
    # With "connections", the protocol uses TCP over the radio and between stations. Plug-ins may set this.
    needs: ClassVar[tuple[Need, ...]] = ()
    # How long a node waits for others before it retries, apart from TCP's timeouts. Plug-ins may set this.
    tries_again_within_s: ClassVar[float] = 10.0
    listens: ClassVar[bool] = True  # if False, the network never calls on_receive; plug-ins may set this

    # --- what is known of its trace
    # The buffers that are measured at each host and station, and that are empty when a run has settled. Plug-ins set
    # BUFFERS of their host and station classes instead.
    buffers: ClassVar[tuple[str, ...]] = ()
    # The keys of each event's detail, which metrics read. A key that ends with a question mark is optional. None: the
    # keys are unknown.
    details: ClassVar[Mapping[str, tuple[str, ...]] | None] = None
    all_stations_admit: ClassVar[bool] = False  # whether a host joins only after every station has answered
    samples_lists: ClassVar[bool] = False  # whether the lengths of the lists in its messages are sampled

    # --- what follows from its parameters `p`

    @staticmethod
    def unicasts(p: Any) -> bool:
        """Return whether the protocol sends frames that the MAC acknowledges, apart from those of connections."""
        return False

    @staticmethod
    def first_join_spread_s(p: Any) -> float:
        """Return the period within which the initial hosts join."""
        return 0.0

    @staticmethod
    def longest_heartbeat_s(p: Any) -> float:
        """Return the longest time for which an idle host stays silent, or 0 if the protocol has no heartbeat."""
        return 0.0

    @staticmethod
    def longest_wait_s(p: Any, hosts: int, frame_s: float) -> float | None:
        """Return how long a node may wait for others before it retries, or None if this is unknown. With None, a run is
        not a violation just because it is still busy at its deadline. `frame_s` is the air time of a message.
        """
        return None

    @staticmethod
    def may_not_settle(p: Any, hosts: int, round_trip_s: float, attempts: int) -> str | None:
        """Return why a run with these numbers may never settle, or None if it must settle. `round_trip_s` is the
        round-trip time over the wires to the farthest station. `attempts` is how many times the MAC tries to send a
        frame.
        """
        return None

    @staticmethod
    def expiry_s(p: Any) -> float | None:
        """Return the silence after which a station gives up on a host, or None if it never does.

        Plug-ins may define this. If it is not None, the network watches for silent hosts. The value does not determine
        which messages the hosts of the plug-in may miss.
        """
        return None

    @staticmethod
    def longest_message_bytes(p: Any, payload_bytes: int, hosts: int, broadcasts: int) -> int | None:
        """Return the size of the longest message that a station sends over the radio with these numbers of hosts and
        broadcasts, or None if it is unknown.
        """
        return None

    @staticmethod
    def frames_per_broadcast(p: Any, hosts: int, stations: int) -> float:
        """Return how many frames carry the first copies of one message. It is used to estimate the size of a run."""
        return 1 + stations

    @staticmethod
    def frames_per_s(p: Any, hosts: int, stations: int) -> float:
        """Estimate how many frames per second are sent without broadcasts. A few frames of each node do not matter."""
        return 0.0

    @staticmethod
    def hops_per_join(p: Any, stations: int, mean_hops: float) -> float:
        """Return how many transmissions over wired links a join causes. `mean_hops` is the mean number of links between
        two stations.
        """
        return 0.0

    @staticmethod
    def most_sent_again_per_s(p: Any, pending: int) -> float:
        """Return the maximum number of copies that a station retransmits per second with `pending` unacknowledged
        messages. It is used to estimate the size of a run that never settles.
        """
        return 0.0


def fill_in(plugin: type) -> type[Declaration]:
    """Return a complete declaration: the attributes of `plugin`, and the defaults of Declaration for the others."""
    if issubclass(plugin, Declaration):
        return plugin
    return type(plugin.__name__, (plugin, Declaration), {"__module__": plugin.__module__, "__doc__": plugin.__doc__})


def declare(host: Callable[..., Any], station: Callable[..., Any], stable: Callable[[], Any]) -> type[Declaration]:
    """Return a declaration with only these constructors, for tests of a protocol or of a modified version."""
    parties = {"host": staticmethod(host), "station": staticmethod(station), "stable": staticmethod(stable)}
    return type("Declared", (Declaration,), parties)
