"""What surrounds a message on the radio, and how long does the whole frame last?

Model     dcf: an 802.11 frame (LLC/SNAP 8, MAC header 24, with groupcast QoS Control 2, FCS 4 bytes) in the air time
          of its mode, at one rate for broadcasts and one for acknowledged unicast. acking: a MAC header and a PHY
          header of given sizes, no preamble, one rate
Units     integer nanoseconds, Mb/s, bytes
Source    phy.py for dcf; for acking the sizes that INET 4.2 has by default: docs/models/radio.md
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from mobilenet.engine.clock import MICROSECOND
from mobilenet.network.radio.keys import RadioKeys
from mobilenet.network.radio.phy import MODES

IP_BYTES = 20
UDP_BYTES = 8
LLC_MAC_FCS_BYTES = 8 + 24 + 4
QOS_CONTROL_BYTES = 2


class Framing:
    """The framing of one network. Messages have few different sizes, so each is computed once."""

    def __init__(self, wireless: RadioKeys) -> None:
        self._wireless = wireless
        self._is_plain = wireless.mac == "acking"
        self._link_bytes = link_bytes(wireless)
        self.broadcast_mbps = wireless.bitrate_mbps if self._is_plain else wireless.broadcast_rate_mbps
        self.unicast_mbps = wireless.bitrate_mbps if self._is_plain else wireless.unicast_mbps
        self._datagrams: dict[int, tuple[int, int]] = {}
        self._segments: dict[int, tuple[int, int]] = {}

    def datagram(self, size_bytes: int) -> tuple[int, int]:
        """Return size and airtime of the frame that carries this payload in a UDP datagram, without acknowledgement."""
        known = self._datagrams.get(size_bytes)
        if known is None:
            in_all = size_bytes + UDP_BYTES + IP_BYTES + self._link_bytes
            known = self._datagrams[size_bytes] = in_all, self._airtime_ns(in_all, self.broadcast_mbps)
        return known

    def acknowledged_datagram(self, size_bytes: int) -> tuple[int, int]:
        """Return size and airtime of a frame that the MAC acknowledges."""
        return self.segment(size_bytes + UDP_BYTES)

    def segment(self, size_bytes: int) -> tuple[int, int]:
        """Return size and airtime of the acknowledged frame for a TCP segment of this size, header included."""
        known = self._segments.get(size_bytes)
        if known is None:
            in_all = size_bytes + IP_BYTES + self._link_bytes
            known = self._segments[size_bytes] = in_all, self._airtime_ns(in_all, self.unicast_mbps)
        return known

    def _airtime_ns(self, size_bytes: int, rate_mbps: float) -> int:
        if self._is_plain:
            bits = self._wireless.phy_header_bits + 8 * size_bytes
            # from the rate as it is written, because 0.7 is not a binary fraction
            return ceil(bits * MICROSECOND / Fraction(repr(rate_mbps)))
        return MODES[self._wireless.mode].airtime_ns(size_bytes, rate_mbps)


def link_bytes(wireless: RadioKeys) -> int:
    """Return the bytes that the link adds to a packet."""
    if wireless.mac == "acking":
        return wireless.mac_header_bytes
    return LLC_MAC_FCS_BYTES + (0 if wireless.groupcast == "none" else QOS_CONTROL_BYTES)
