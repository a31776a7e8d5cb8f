"""A protocol's declaration: its classes, its promises, its requirements and its measurements.

Model     a declaration is a class with these attributes and no state. The scenario, the network and the fuzzer know a
          protocol only through its declaration; the verifier reads what the scenario derived from it. Built-in
          declarations are listed in scenario/protocol_catalogue.py. A plug-in is a class in the user's own file. It may
          set the attributes marked `plug-ins`, and has the defaults from here for those that it does not set. The other
          attributes of a plug-in are ignored, so that verifying or estimating a run never executes its code
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

    host(port, stable, parameters, stations), station(port, wired, parameters, stations) and stable() create the parties
    of the protocol. `parameters` is the class of a built-in protocol's keys in a scenario; a plug-in has `settings`
    instead.
    """

    name: ClassVar[str] = ""
    host: ClassVar[type]  # plug-ins
    station: ClassVar[type]  # plug-ins
    stable: ClassVar[type] = BaseStable  # plug-ins
    parameters: ClassVar[type]

    # --- what it promises
    # what the verifier judges; None: only record, conservation and rest. plug-ins, but for None
    promises: ClassVar[Promise | None] = "causal"
    # whether every member gets every message; None: only if the protocol is causal. plug-ins
    delivers_to_all: ClassVar[bool | None] = None
    # whether hosts may have a gap at any time, and not only after they expired
    loses_at_any_time: ClassVar[bool] = False
    # Additional promises: functions marked with `promise` or, for a built-in protocol, the module that contains CHECKS.
    # plug-ins
    checks: ClassVar[tuple[Callable[..., Any], ...] | str] = ()

    # --- what it needs
    # which connections it uses: TCP over the radio, TCP between stations. plug-ins
    needs: ClassVar[tuple[Need, ...]] = ()
    # how long a node waits for others before it retries, besides TCP's timeouts. plug-ins
    tries_again_within_s: ClassVar[float] = 10.0
    listens: ClassVar[bool] = True  # False: the network hands no frames up, and receptions cost no time. plug-ins

    # --- what is known of its trace
    # measured of each host and station, and empty at rest. Plug-ins: BUFFERS of host and station
    buffers: ClassVar[tuple[str, ...]] = ()
    # The keys of each event's detail. A key that ends with a question mark is optional. None: the keys are unknown.
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
        """Return the time within which the hosts that exist from the beginning join."""
        return 0.0

    @staticmethod
    def longest_heartbeat_s(p: Any) -> float:
        """Return the longest time for which an idle host stays silent, or 0 if the protocol has no heartbeat."""
        return 0.0

    @staticmethod
    def longest_wait_s(p: Any, hosts: int, frame_s: float) -> float | None:
        """Return how long a node may wait for others before it retries. None means that this is unknown; a run that has
        not come to rest at its deadline is then never called a violation for that reason. `frame_s` is the air time of
        a message.
        """
        return None

    @staticmethod
    def may_not_settle(p: Any, hosts: int, round_trip_s: float, attempts: int) -> str | None:
        """Return why a run may fail to come to rest with these numbers, or None if it must come to rest. `round_trip_s`
        is over the wires to the farthest station and back; `attempts` is the number of attempts of the MAC for each
        frame.
        """
        return None

    @staticmethod
    def expiry_s(p: Any) -> float | None:
        """Return the silence after which a station gives up on a host, or None if it never does.

        plug-ins: if this is not None, the network watches for silent hosts. It does not determine which messages the
        hosts of the plug-in may miss.
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
        """Return how many frames carry the first copies of one message. The estimate of a run's size uses this
        number.
        """
        return 1 + stations

    @staticmethod
    def frames_per_s(p: Any, hosts: int, stations: int) -> float:
        """Return the number of frames a second that are sent even if no host broadcasts, beyond a few frames for each
        node.
        """
        return 0.0

    @staticmethod
    def hops_per_join(p: Any, stations: int, mean_hops: float) -> float:
        """Return how many messages a join causes on links. `mean_hops` is the mean number of links between two
        stations.
        """
        return 0.0

    @staticmethod
    def most_sent_again_per_s(p: Any, pending: int) -> float:
        """Return the maximum number of copies that a station retransmits each second with this number of unacknowledged
        messages. It serves to estimate the size of a run that does not come to rest.
        """
        return 0.0


def fill_in(plugin: type) -> type[Declaration]:
    """Return a complete declaration: the attributes of `plugin`, and the defaults of Declaration for the others."""
    if issubclass(plugin, Declaration):
        return plugin
    return type(plugin.__name__, (plugin, Declaration), {"__module__": plugin.__module__, "__doc__": plugin.__doc__})


def declare(host: Callable[..., Any], station: Callable[..., Any], stable: Callable[[], Any]) -> type[Declaration]:
    """Return a declaration that has only these parties, for tests of a protocol or of a modified one."""
    parties = {"host": staticmethod(host), "station": staticmethod(station), "stable": staticmethod(stable)}
    return type("Declared", (Declaration,), parties)
