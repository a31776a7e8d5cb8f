"""Descriptions of the fields on cards. The fields of the built-in protocols have the short names of their papers.

Source    the comments next to the fields: protocols/mobile_causal, protocols/tcp_flooding
"""

from __future__ import annotations

import dataclasses
from typing import Any

from mobilenet.protocols.mobile_causal.context import Context
from mobilenet.protocols.mobile_causal.host import Host
from mobilenet.protocols.mobile_causal.selective_host import SelectiveHost
from mobilenet.protocols.mobile_causal.stable_storage import Stable
from mobilenet.protocols.mobile_causal.station import Station
from mobilenet.protocols.tcp_flooding.host import Host as TcpHost
from mobilenet.protocols.tcp_flooding.stable_storage import Stable as TcpStable
from mobilenet.protocols.tcp_flooding.station import Station as TcpStation

OF_MEMBERSHIP = "whether the host is out, joining, a member, or leaving"
WORDS: dict[type, dict[str, str]] = {
    Stable: {
        "status": OF_MEMBERSHIP,
        "ses": "number of the host's last session; this number only grows",
        "lc": "last session that a station has confirmed; -1 for none",
        "nxt": "number of the next message to deliver in that session",
        "seq h": "number of the host's next message",
        "sbuf": "messages of this host that no station has acknowledged",
        "gap on join": "whether this join repairs a lost context, so that the application is notified of a gap",
    },
    Host: {
        "recovering": "whether the host has crashed and not yet recovered",
        "connected": "whether a station has confirmed the session",
        "cell": "number of the station in whose cell the host is",
        "session station": "station with which the session was opened",
        "cookie": "number by which the station recognises that a request is not outdated",
        "want leave": "whether the host leaves as soon as its own messages are acknowledged",
    },
    SelectiveHost: {
        "newest": "highest stream number that the host knows to exist; -1 for none",
        "reports": "number of times that the host has reported the current gap since it last made progress",
    },
    Station: {
        "check": "whether the station checks its own state while it runs",
        "expiry s": "seconds of silence after which the station gives up on a host",
        "ctx": "contexts: the hosts for which the station keeps state",
    },
    Context: {
        "host": "number of the host",
        "state": "role of the station for this host: owner, joining, waiting, or handing over",
        "ses": "session that the station serves, or that it requests",
        "rq": "the request: its session, and a number chosen by the requesting station",
        "pin": "lowest stream number whose message the station keeps for this host while a request is in progress",
        "seq h": "number of the next message that is expected from the host",
        "base": "stream number at which the stream of the cell begins for this host",
        "nxt": "number of the next message that the host will deliver",
        "rec": "recovery messages that the host still lacks: numbers from nxt to base - 1",
        "skip": "stream numbers of messages that the host has delivered in another cell",
        "have": "stream numbers after nxt of messages received but not delivered; only with repair: selective",
        "direct": "stream numbers of messages that are sent individually to this host; only with repair: selective",
        "copied": "when each of these messages was last sent individually; only with repair: selective",
        "missed": "how many messages of the stream the host has missed in its session; only with repair: selective",
        "counted": "stream number below which missed messages have been counted; only with repair: selective",
        "rbuf": "messages from the host that arrived out of order",
        "pend": "requests for later sessions, kept while the station is not the owner",
        "answers": "stations that answered that they have nothing for this host",
        "peer": "station at the other end of the handoff; -1 for none",
        "grq": "the request that was granted",
        "bound": "number of the station's next message when the handoff was answered",
        "undelivered": "messages that the previous owner reports as missing at the host",
        "expired": "whether the station has given up on the host",
        "gap": "whether the host has permanently missed messages",
        "heard": "simulated time at which the host was last heard here",
    },
    TcpStable: {
        "status": OF_MEMBERSHIP,
        "ses": "number of the last link that the host asked for; this number only grows",
        "seq": "number of the host's next message",
        "unsent": "messages of this host that no station has acknowledged",
        "via": "stations that know the host's past: that of the last safe link, and the one before while it knows more",
    },
    TcpHost: {
        "recovering": "whether the host has crashed and not yet recovered",
        "cell": "number of the station in whose cell the host is",
        "next": "the new link during a handoff",
        "next is open": "whether the new link is open",
        "unconfirmed": "whether a session was opened but is not yet confirmed",
        "by ping": "whether the old link is kept until the new one is safe",
        "received": "for each sender, the highest number that the host has delivered",
        "buffer": "messages delivered or broadcast since the host returned to a link",
        "buffer end": "position of the buffer's last message among all messages sent over the safe link",
        "want leave": "whether the host leaves as soon as its own messages are acknowledged",
    },
    TcpStation: {
        "me": "number of the station",
        "received": "for each sender, the highest number that has arrived here",
        "links": "links to hosts",
        "newest": "for each host, the number of the latest session that the station has heard of",
        "number": "number of the last Ping or Close of this station",
    },
}


def words_of(thing: Any) -> dict[str, str]:
    """Return the meanings of the names on the card, for an object of a built-in protocol and the objects in it."""
    words_by_field = {name: words for kind in type(thing).__mro__ for name, words in WORDS.get(kind, {}).items()}
    stable = getattr(thing, "stable", None)
    if dataclasses.is_dataclass(stable):
        words_by_field |= WORDS.get(type(stable), {})
    return words_by_field
