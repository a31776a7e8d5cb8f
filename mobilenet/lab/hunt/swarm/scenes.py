"""Draw a small hostile scenario for the real radio from one seed.

Model     2-4 stations stand slightly too close together or too far apart. 1-6 hosts move back and forth across the
          borders of their cells, half of the time in a small box around a border. There are loss, short outages that
          hit handoffs, churn, busy hosts, slow wires, small windows and small queues. A quarter of the scenarios have
          the T extension. The settings of TCP flooding and of the MAC `acking` come from separate streams, so that all
          other values of a seed stay the same.
Units     metres, seconds, milliseconds, Mb/s
Source    ours: docs/architecture.md
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import Any, Literal

from mobilenet.engine.random_streams import Stream
from mobilenet.network.radio.phy import MODES
from mobilenet.protocols.names import DEFAULT, SELECTIVE
from mobilenet.protocols.tcp_flooding.declaration import TcpFlooding
from mobilenet.scenario import Scenario

Values = dict[str, Any]
REFERENCE_LOSS_DB = 40.05
Radio = Literal["dcf", "acking", "sinr"]  # a MAC with the unit disk model, or 802.11 with SINR


def draw(seed: int, protocol: str = DEFAULT, backbone: str = "tree", radio: Radio = "dcf") -> Scenario:
    """Return the scenario of a seed. Positions, movement, radio, faults and churn are the same for each protocol and
    each backbone. The range and the random loss are also the same for each kind of radio.
    """
    stream, floods = Stream(seed, "swarm/scene"), protocol == TcpFlooding.name
    repairs = protocol == SELECTIVE
    expires = stream.chance(0.25)
    range_m = stream.uniform(40, 120)
    points = _stations(stream, range_m)
    return Scenario.model_validate(
        {
            "name": "swarm",
            "seed": seed,
            "duration_s": stream.uniform(15, 25) if expires else stream.uniform(6, 20),
            "drain_s": 600.0 if floods else 120.0,
            "stations": {
                "layout": {"shape": "points", "points_m": points},
                "backbone": {
                    "kind": backbone,
                    "shape": stream.one_of("star", "chain", "breadth_first"),
                    "bandwidth_mbps": stream.one_of(10.0, 10.0, 0.3),
                    "delay_ms": stream.one_of(1.0, 10.0, stream.uniform(20, 200)),
                },
            },
            "wireless": _wireless(seed, stream, range_m, 0.1 if expires else 0.5, radio)
            | (_groupcast(seed) if repairs and radio != "acking" else {}),
            "hosts": {
                "count": 1 + stream.below(6),
                "mobility": _mobility(stream, points, range_m),
                "attachment": _attachment(stream, radio),
            },
            "faults": _faults(stream, expires),
            "churn": _churn(stream),
            "protocol": _flooding(seed)
            if floods
            else _protocol(stream, expires) | (selective(seed) if repairs else {}),
            "workload": {
                "arrivals": stream.one_of("exponential", "periodic"),
                "interval_s": stream.uniform(0.2, 1.5),
                "payload_bytes": stream.one_of(100, 0, 1000),
            },
            "record": {"positions_interval_s": None},
        }
    )


def _stations(stream: Stream, range_m: float) -> tuple[tuple[float, float], ...]:
    """Return the positions of stations in a row or a square. If the spacing exceeds 1.4 ranges, a square has a hole in
    its middle; if it exceeds 2 ranges, the cells do not touch.
    """
    spacing_m = range_m * stream.uniform(0.6, 2.6)
    shape = stream.one_of(((0, 0), (1, 0), (2, 0), (3, 0)), ((0, 0), (1, 0), (0, 1), (1, 1)))
    return tuple((x * spacing_m, y * spacing_m + stream.uniform(-5, 5)) for x, y in shape[: 2 + stream.below(3)])


def _mobility(stream: Stream, points: Sequence[tuple[float, float]], range_m: float) -> Values:
    xs, ys = zip(*points, strict=True)
    if stream.chance(0.5):  # Hosts move around a point at the border of several cells, or of one cell.
        reach = range_m * stream.uniform(0.1, 0.6)
        x, y = xs[0] + min((xs[1] - xs[0]) / 2, 0.9 * range_m), ys[0]
        box = (x - reach, y - reach, x + reach, y + reach)
    else:  # Hosts move in the whole area, and beyond the edge of coverage.
        rim = range_m * stream.uniform(0.3, 1.3)
        box = (min(xs) - rim, min(ys) - rim, max(xs) + rim, max(ys) + rim)
    slow = stream.uniform(5, 20)
    return {
        "model": "random_waypoint",
        "speed_mps": (slow, slow + stream.uniform(0, 10)),
        "pause_s": (0.0, stream.one_of(0.0, 1.0)),
        "area": {"box_m": box},
    }


def _attachment(stream: Stream, radio: Radio) -> Values:
    hysteresis, tick_ms = stream.one_of(0.0, 1.0, 5.0), stream.one_of(20, 100)
    return {"hysteresis_db" if radio == "sinr" else "hysteresis_m": hysteresis, "tick_ms": tick_ms}


def _wireless(seed: int, stream: Stream, range_m: float, most_loss: float, radio: Radio) -> Values:
    drawn = _dcf(stream, range_m, most_loss)
    if radio == "dcf":
        return drawn
    return _acking(seed, drawn) if radio == "acking" else _sinr(seed, drawn)


def _dcf(stream: Stream, range_m: float, most_loss: float) -> Values:
    mode = stream.one_of("b", "g_mixed", "g_erp", "a")
    rates = [rate for rate in MODES[mode].rates_mbps if rate <= 24]
    return {
        "range_m": range_m,
        "detection_range_m": stream.one_of(None, 2 * range_m),
        "mode": mode,
        "broadcast_rate_mbps": float(stream.one_of(*rates)),
        "eifs": stream.chance(0.5),
        "loss": stream.one_of(0.0, most_loss * stream.random(), most_loss * stream.random() ** 2),
        "queue_frames": stream.one_of(100, 100, 5),
    }


def _groupcast(seed: int) -> Values:
    """Return the settings of groupcast. Like all values for the repair schemes, they come from a separate stream."""
    stream = Stream(seed, "swarm/groupcast")
    return {"groupcast": "unsolicited_retry", "group_retries": 1 + stream.below(3)} if stream.chance(0.5) else {}


def _acking(seed: int, dcf: Values) -> Values:
    """Return the keys of the MAC `acking`. Keys that exist only for this MAC come from a separate stream."""
    stream = Stream(seed, "swarm/acking")
    return {
        "mac": "acking",
        "range_m": dcf["range_m"],
        "loss": dcf["loss"],
        "bitrate_mbps": stream.one_of(1.0, 12.0, stream.uniform(0.3, 24)),
        "phy_header_bits": stream.one_of(96, 96, 0, 192),
        "mac_header_bytes": stream.one_of(16, 16, 0, 34),
        "link_ack_timeout_ms": stream.one_of(100.0, 5.0, stream.uniform(5, 200)),
        "full_duplex": stream.chance(0.5),
        "queue_frames": stream.one_of(100, 100, 5),
    }


def _sinr(seed: int, dcf: Values) -> Values:
    """Return the keys of a radio with SINR. The power is such that preambles are detected up to the range, where the
    rate still works.
    """
    stream = Stream(seed, "swarm/sinr")
    exponent, preamble_rssi_dbm = stream.uniform(2.5, 3.3), stream.one_of(-82.0, -82.0, -70.0)
    is_fast = preamble_rssi_dbm == -70.0
    rates = [rate for rate in MODES[dcf["mode"]].rates_mbps if rate <= (24 if is_fast else 6)]
    rate_mbps = float(stream.one_of(*rates))
    shadowing = {"sigma_db": stream.uniform(1, 8), "decorrelation_m": stream.uniform(5, 20)}
    return {
        "model": "sinr",
        "mode": dcf["mode"],
        "broadcast_rate_mbps": rate_mbps,
        "unicast_rate_mbps": rate_mbps,
        "eifs": dcf["eifs"],
        "loss": dcf["loss"],
        "queue_frames": dcf["queue_frames"],
        "tx_dbm": preamble_rssi_dbm + REFERENCE_LOSS_DB + 10 * exponent * log10(dcf["range_m"]),
        "path_loss": {"exponent": exponent, "reference_loss_db": REFERENCE_LOSS_DB},
        "shadowing": shadowing if stream.chance(0.5) else None,
        "fading": {"model": "nakagami"} if stream.chance(0.5) else None,
        "preamble_rssi_dbm": preamble_rssi_dbm,
        "preamble_sinr_db": stream.one_of(4.0, 4.0, stream.uniform(0, 10)),
        "ed_threshold_dbm": preamble_rssi_dbm + 20,
        "capture_db": stream.one_of(None, None, 5.0),
    }


def _faults(stream: Stream, expires: bool) -> Values | None:
    rate_per_min, mean_s = stream.uniform(4, 40), stream.uniform(0.05, 1.0)
    if expires:
        rate_per_min, mean_s = stream.uniform(3, 10), stream.uniform(4, 10)
    elif stream.chance(0.3):
        return None
    return {"schedule": "random", "rate_per_host_per_min": rate_per_min, "mean_duration_s": mean_s}


def _churn(stream: Stream) -> Values | None:
    rate_per_min, away_s, at_start = stream.uniform(2, 20), stream.uniform(0.1, 3), stream.uniform(0.6, 1)
    if stream.chance(0.5):
        return None
    return {"leave_rate_per_host_per_min": rate_per_min, "mean_away_s": away_s, "initial_fraction": at_start}


def _protocol(stream: Stream, expires: bool) -> Values:
    return {
        "name": DEFAULT,
        "window": stream.one_of(150, 150, 8, 3),
        "mac_backlog": stream.one_of(20, 2),
        "ack_min_s": stream.uniform(0.02, 0.25),
        "ack_max_s": stream.uniform(0.25, 0.75),
        "heartbeat_s": 0.2 if expires else stream.uniform(0.5, 2),
        "silent_after_s": stream.uniform(1, 5),
        "control_interval_s": stream.uniform(0.05, 0.25),
        "forwarding_jitter_s": stream.one_of(0.0, 0.02),
        "first_join_spread_s": stream.one_of(0.0, 1.0),
        "cookie_lifetime_s": stream.uniform(0.5, 10),
        "expiry_s": stream.uniform(3, 5) if expires else None,
        "stub_lifetime_s": stream.uniform(0.5, 3) if expires and stream.chance(0.4) else None,
    }


def selective(seed: int) -> Values:
    """Return the parameters of `repair: selective`. They come from a separate stream."""
    stream = Stream(seed, "swarm/selective")
    return {
        "repair": "selective",
        "report_s": stream.uniform(0.01, 0.3),
        "most_reports": 1 + stream.below(6),
        "cell_copies": 1 + stream.below(4),
        "repair_rest_s": stream.uniform(0, 0.1),
        "doubt_s": stream.uniform(0, 0.2),
        "retry_s": stream.uniform(0.03, 0.5),
        "few_hosts": 1 + stream.below(6),
        "lossy_share": stream.one_of(0.0, 0.05, 0.3),
    }


def _flooding(seed: int) -> Values:
    """Return the parameters of TCP flooding. They come from a separate stream."""
    stream = Stream(seed, "swarm/flooding")
    return {
        "name": TcpFlooding.name,
        "spacing_ms": stream.one_of(5.0, 0.0, stream.uniform(0, 50)),
        "spacing": stream.one_of("per_message", "per_queue"),
        "echo": stream.chance(0.2),
        "handoff_wait_s": stream.one_of(2.0, stream.uniform(0.05, 1)),
        "reconnect_s": stream.uniform(0.02, 0.5),
        "silence_s": stream.one_of(10.0, stream.uniform(0.5, 3)),
        "first_join_spread_s": stream.one_of(0.0, 1.0),
        "tcp": _tcp(stream),
        "wired_tcp": _tcp(stream) if stream.chance(0.5) else None,
    }


def _tcp(stream: Stream) -> Values:
    aggregation = stream.chance(0.8)
    return {
        "mss_bytes": stream.one_of(536, 1460, 64),
        "messages_in_flight": stream.one_of(46, 3, None),
        "aggregation": aggregation,
        "nagle": aggregation and stream.chance(0.5),
        "recovery": stream.one_of("newreno", "reno", "none"),
        "delayed_ack_s": stream.one_of(0.2, 0.0, 0.04),
        "rto_initial_s": stream.uniform(0.2, 1),
        "rto_max_s": stream.one_of(60.0, stream.uniform(1, 5)),
        "max_retransmissions": stream.one_of(12, 12, 4),
        "connect_timeout_s": stream.one_of(75.0, stream.uniform(1, 5)),
    }
