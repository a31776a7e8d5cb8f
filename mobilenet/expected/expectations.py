"""What is known of a run before it begins, as far as its record can be held to it: plain values, nothing is computed
here.

Model     expected/plans.py derives it from a scenario, mobilenet.verify compares the record with it; neither knows
          the other
Units     integer nanoseconds; metres, metres per second, bytes
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple


class HostPlan(NamedTuple):
    """One host."""

    appears_ns: int
    # when it is asked to `join` and to `leave`, in order; each wish is repeated until it is fulfilled
    requests: list[tuple[int, str]]
    vanishes_ns: int | None  # from when on it may be gone for good
    # when its application wants to broadcast, if the host is there; None: not known, programs do as they like
    offers_ns: list[int] | None
    speed_mps: float  # it is never faster
    # when it is put where by hand, in metres; of an added host the first is when and where it appears
    drags: Sequence[tuple[int, float, float]] = ()
    is_added: bool = False  # by hand, after everything else of that nanosecond
    # how it walks from when it appears on, leg by leg (world/trajectory.py); None: not known
    legs: Callable[[], Iterator[Any]] | None = None


class Crashes(NamedTuple):
    """When hosts crash, and for how long."""

    of_hosts: dict[str, dict[int, int]]  # where the hosts are planned
    of_anybody: dict[int, int]  # where it is decided when the moment has come
    recoveries: Mapping[str, list[int]] | None = None  # when a host is recovered by hand, if it is down


class Places(NamedTuple):
    """Where stations are, and which of them a host is with: the nearest in range, but for the hysteresis; where power
    decides, any that can be received at that distance.
    """

    stations_m: list[tuple[float, float]]
    range_m: float
    hysteresis_m: float
    error_m: float  # standard deviation of what a host takes for its place
    tick_ns: int  # a host may be with a station this long after it should have changed
    every_ns: int | None  # from one position of each host to the next; None: they are not recorded
    by_power: bool = False
    covers: Callable[[float, float], bool] | None = None  # where power decides: whether a station serves this place
    heard_m: float = 0.0  # where power decides: no frame is received from farther away


class Conduct(NamedTuple):
    """What is known of the trace of a protocol: each session of a member has the next number, and a handoff ends with
    the station that it began with. Of custom protocols nothing is known."""

    only_connected: bool  # delivers what its station sends, and nothing from the begin of a handoff to its end
    details: Mapping[
        str, tuple[str, ...]
    ]  # event -> the keys of its detail; with a question mark: it need not be there
    # stations forget a host, and it its own messages, this long after they gave it up; None: never
    forgets_after_s: float | None
    # hosts keep what they broadcast, and stations each message once, until it is acknowledged
    keeps_until_acknowledged: bool = False
    # stations check at each multiple of that whether they give up on a host; None: not known
    looks_every_ns: int | None = None
    gaps_follow_handoffs: bool = False  # a gap comes just after the end of a handoff that relayed nothing
    numbers_once: bool = False  # a station numbers each message once, and hosts deliver in the order of its numbers
    stream_acknowledges: bool = False  # an own message that a host receives from a station acknowledges it
    unicasts: bool = False  # what is for one node may be acknowledged by the MAC


class Switch(NamedTuple):
    """A link is cut or repaired, or a station's radio is switched, by hand or because the active part is over."""

    at_ns: int
    event: str  # cut, mend, radio_off, radio_on
    station: str
    other: str | None = None  # the other end of a link
    loses: bool = False  # what is sent over the link is lost


class Impairment(NamedTuple):
    """From then on a host, or a link, loses more and takes longer, by hand or because the active part is over."""

    at_ns: int
    node: str
    other: str | None  # the other end of a link
    loss: float
    delay_ns: int


class LossyCut(NamedTuple):
    """A link loses messages, of which the protocol assumes that none is lost."""

    protocol: str
    station: str
    other: str
    since_ns: int
    until_ns: int


class Wires(NamedTuple):
    """The network between stations."""

    links: list[tuple[str, str]] | None  # None: all with all
    is_tree: bool  # there is one way between any two, and every message goes it


class AirTime(NamedTuple):
    """A frame lasts base_ns, and step_ns for each whole or begun step of its bits, header_bits included; a step has
    denominator / numerator bits.
    """

    base_ns: int
    header_bits: int
    numerator: int
    denominator: int
    step_ns: int

    def of(self, size_bytes: int) -> int:
        return self.base_ns + self.step_ns * -(
            -(self.header_bits + 8 * size_bytes) * self.numerator // self.denominator
        )


class Carrier(NamedTuple):
    """A way in which a message becomes a frame: bytes around it, sent at one rate."""

    around_bytes: int
    airtime: AirTime


class Strength(NamedTuple):
    """The power of frames from one kind of nodes to another. A table has a value for each STRENGTH_STEP_M."""

    far_m: float  # no node receives a frame from farther away
    near_m: float  # a frame surely reaches a node that is nearer
    most_dbm: Sequence[float] = ()  # at this distance or farther away; empty: only the distance decides
    least_dbm: Sequence[float] = ()  # at this distance or nearer; empty: no bound is known


STRENGTH_STEP_M = 0.5


class Segmenting(NamedTuple):
    """How connections cut their streams into segments, where both ends of each do it alike."""

    mss_bytes: int
    window_bytes: int
    nagle: bool
    payload_bytes: int  # of each application message


class Air(NamedTuple):
    """The radio and the wires, as far as tables of frames and messages are held to them."""

    frames: bool  # whether the scenario has these tables recorded
    messages: bool
    by_power: bool
    outcomes: Sequence[str]  # what can become of a frame at a receiver
    full_duplex: bool
    captures: bool  # a frame may survive others
    reach_is_all: bool  # nothing is disturbed from farther away than it is received
    delay_ns: int  # no frame takes longer to a receiver
    around_ns: int  # nor to a node that it disturbs
    broadcast: AirTime
    unicast: AirTime
    carriers: Sequence[Carrier]
    ack: tuple[int, int] | None  # bytes and air time of the MAC's acknowledgements; None: they are not sent
    repeats: bool  # the MAC acknowledges frames, and sends again what was not acknowledged: such a frame may come twice
    strengths: Mapping[tuple[bool, bool], Strength]  # whether the sender and the receiver are stations
    detected_dbm: float  # where power decides and frames are recorded: the least power of a preamble that is detected
    noise_dbm: float  # the least of any rate ...
    most_noise_dbm: float  # ... and the most
    clear_dbm: float  # from there on noise breaks no frame
    losses: Sequence[tuple[int, float]]  # from when on which share of receptions is lost at random, in order
    # hosts join, end handoffs, have gaps and deliver only while they handle a frame of the station that they name
    acts_on_frames: bool
    # no frame is longer than this, but for 64 bytes for each host and 8 for each broadcast; None: not known
    most_bytes: int | None
    wire_bits_per_s: int
    wire_delay_ns: int
    only_segments: bool = False  # every frame carries a segment of TCP, and the MAC acknowledges it where it can
    sifs_ns: int = 0  # from the end of a frame to its acknowledgement
    difs_ns: int = 0  # no other frame follows one that was heard sooner than so
    fades: bool = True  # the power between two places differs from frame to frame
    station_more_dbm: float = 0.0  # the power of stations above that of hosts
    all_interfere: bool = False  # whatever is strong enough to be received counts as interference
    sync_ns: int = 0  # interference does nothing to the first part of a frame ...
    tail_ns: int = 0  # ... and to the last
    segmenting: tuple[Segmenting, Segmenting] | None = None  # over the radio and over wires; None: not all is segments


class Kind(NamedTuple):
    """One class of messages, as they are counted."""

    fixed_bytes: int  # of each, with all that surrounds it where it is sent
    carries: bool  # one application message each, or one in each item of its lists
    entries: Mapping[str, int | None]  # list that is measured -> bytes of an item besides its payload; None: they vary
    is_exact: bool  # nothing else in its size varies
    acknowledges: bool  # it does nothing else
    size_of: Callable[[Mapping[str, Any]], int]  # how long it is itself, by the recorded fields


class Radio(NamedTuple):
    """What the radio counts; and the failure detector of the backbone."""

    least_loss: float  # at random, of any time
    most_loss: float
    acknowledges: bool  # whether frames may be acknowledged by the MAC
    least_retries: int  # of a frame that the MAC gives up; 0: it never tries again
    suspects: bool  # whether stations may suspect each other
    always_up: bool  # no node ever crashes, appears late or vanishes, and no radio is switched off
    # sender -> class of a message -> what is known of it; None: nothing
    kinds: Mapping[str, Mapping[str, Kind]] | None
    # what happens -> sender, classes, and how many of them it takes at least; 0: one over each link of the stations
    takes: Mapping[str, Sequence[Any]] = {}
    group_retries: int = 0  # how often the MAC of a station repeats each broadcast frame with data


class Expectations(NamedTuple):
    """All of it; None: not known."""

    hosts: list[HostPlan] | None
    crashes: Crashes | None
    end_ns: int  # the end of all that is planned
    places: Places | None
    conduct: Conduct | None
    payload_bytes: int | None  # of each application message, where one is never cut into pieces
    wired_header_bytes: int | None  # around each message on a link
    switches: Sequence[Switch] = ()  # in order
    impairments: Sequence[Impairment] = ()  # in order
    wires: Wires | None = None
    has_datagrams: bool = True  # programs use UDP
    radio: Radio | None = None
    least_frame_bytes: int = 0  # of a message on the radio
    queue_frames: int = 0  # that wait in a node's radio at most
    asked_again_ns: int = 0  # a wish to join or leave is repeated this often until it is fulfilled
    in_the_air_ns: int | None = None  # no frame of a station takes longer, from its begin to its arrival
    air: Air | None = None


class Detecting(NamedTuple):
    """The failure detector of plain processes."""

    is_perfect: bool
    timeout_ns: int
    mistakes: Sequence[tuple[int, str, str]]  # false suspicions that are planned: when, by which process, of which one
    partners: Sequence[int]  # of each process: the least number that it tests in its first round
    least_bytes: int  # of a test or an answer
    most_bytes: int
    hop_ns: int  # no test takes less time over one link, from its send to its handling


class Broadcasting(NamedTuple):
    """A broadcast over VCube, as far as it shows in counters and buffers."""

    name: str
    completes: bool  # it reports to each source that its broadcast is complete
    kinds: Mapping[str, tuple[int, int]]  # class of a message -> the fewest and the most bytes that one has
    carries: Mapping[str, int]  # class of a message -> of how many broadcasts it brings the text at most
    # in a quiescent run without suspicions each broadcast takes one tree and one ack for each other process
    spans: bool
    text_bytes: int  # the least that each broadcast takes for each process that delivers it
    quiet_bytes: int | None  # what it takes in a quiet run, acknowledgements included; None: not known
    buffers: Sequence[str]
    per_message: Sequence[str]  # of these, the ones that hold an entry for each message broadcast at most
    ends_with_delivery: bool = False  # in a quiescent run without suspicions nothing arrives after the last delivery
    # sources -> from whom each process has their messages without suspicions, int64 (sources, processes); -1: itself
    parents_of: Callable[[Any], Any] | None = None


class ProcessPlan(NamedTuple):
    """What is known of a run of plain processes."""

    crashes_ns: Mapping[str, int]
    broadcasts_ns: Mapping[str, Sequence[int]]  # of each process, in order
    detector: Detecting | None
    network: str  # abstract, packet or wired
    hop_ns: int  # no message takes less time over one link, from its send to its handling
    distances: Sequence[Sequence[int]] | None  # links between two processes; None: at least one
    hand_over_ns: int  # from the end of a reception to the handling of the message
    broadcasting: Broadcasting | None  # None: a plug-in or a program
    last_ns: int  # the last of all that is planned
    samples_changes: bool  # buffers are sampled whenever they change, not only at the end
    loses: bool = False  # the network may lose messages
