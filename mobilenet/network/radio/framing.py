"""Compute the headers that surround a message on the radio, and the duration of the whole frame.

Model     dcf: an 802.11 frame (LLC/SNAP 8, MAC header 24, QoS Control 2 with groupcast, FCS 4 bytes) with the airtime
          of its mode. There is one rate for broadcasts and one for acknowledged unicast. acking: a MAC header and a PHY
          header of configured sizes, without a preamble, and with a single rate.
Units     Times are integer nanoseconds, rates are in Mb/s, and sizes are in bytes.
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
    """The framing of one network. Messages have only a few different sizes, so the result for each size is computed
    only once.
    """

    def __init__(self, wireless: RadioKeys) -> None:
        self._wireless = wireless
        self._is_plain = wireless.mac == "acking"
        self._link_bytes = link_bytes(wireless)
        self.broadcast_mbps = wireless.bitrate_mbps if self._is_plain else wireless.broadcast_rate_mbps
        self.unicast_mbps = wireless.bitrate_mbps if self._is_plain else wireless.unicast_mbps
        self._datagrams: dict[int, tuple[int, int]] = {}
        self._segments: dict[int, tuple[int, int]] = {}

    def datagram(self, size_bytes: int) -> tuple[int, int]:
        """Return the size and the airtime of the frame that carries this payload in a UDP datagram without
        acknowledgement.
        """
        known = self._datagrams.get(size_bytes)
        if known is None:
            in_all = size_bytes + UDP_BYTES + IP_BYTES + self._link_bytes
            known = self._datagrams[size_bytes] = in_all, self._airtime_ns(in_all, self.broadcast_mbps)
        return known

    def acknowledged_datagram(self, size_bytes: int) -> tuple[int, int]:
        """Return the size and the airtime of a frame that carries this payload in a UDP datagram and is acknowledged by
        the MAC.
        """
        return self.segment(size_bytes + UDP_BYTES)

    def segment(self, size_bytes: int) -> tuple[int, int]:
        """Return the size and the airtime of the acknowledged frame for a TCP segment of this size, header included."""
        known = self._segments.get(size_bytes)
        if known is None:
            in_all = size_bytes + IP_BYTES + self._link_bytes
            known = self._segments[size_bytes] = in_all, self._airtime_ns(in_all, self.unicast_mbps)
        return known

    def _airtime_ns(self, size_bytes: int, rate_mbps: float) -> int:
        if self._is_plain:
            bits = self._wireless.phy_header_bits + 8 * size_bytes
            # Convert the rate from its decimal text, because a number such as 0.7 is not exact in binary.
            return ceil(bits * MICROSECOND / Fraction(repr(rate_mbps)))
        return MODES[self._wireless.mode].airtime_ns(size_bytes, rate_mbps)


def link_bytes(wireless: RadioKeys) -> int:
    """Return how many bytes the link layer adds to a packet."""
    if wireless.mac == "acking":
        return wireless.mac_header_bytes
    return LLC_MAC_FCS_BYTES + (0 if wireless.groupcast == "none" else QOS_CONTROL_BYTES)
