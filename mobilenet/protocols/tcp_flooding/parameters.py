"""The numbers of TCP flooding; those of TCP itself are separate groups.

Units     seconds and milliseconds, as the names show
Errors    pydantic.ValidationError at construction only
Source    "paper" is Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks
          (2020), section V.A; "ours" is docs/protocols/tcp-flooding.md
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mobilenet.parameters import Parameters


class TcpFloodingParameters(Parameters):
    """Causal broadcast by flooding over TCP connections, the paper's baseline."""

    spacing_ms: float = Field(
        default=5.0,
        ge=0,
        le=10_000,
        description="time between the copies that a station sends to the hosts of its cell (paper: 5)",
    )
    spacing: Literal["per_message", "per_queue"] = Field(
        default="per_message",
        description="whether it applies to copies of one message, or to all copies of a station (paper: per message)",
    )
    echo: bool = Field(
        default=False,
        description="a message also goes back over the link that it came from, as in PC-broadcast (ours: no)",
    )
    handoff_wait_s: float = Field(
        default=2.0,
        gt=0,
        le=600,
        description="time within which the new link must become safe, before the old one is given up (ours)",
    )
    reconnect_s: float = Field(
        default=0.25,
        gt=0,
        le=60,
        description="mean wait before a refused or lost connection is requested again (ours)",
    )
    silence_s: float = Field(
        default=10.0,
        gt=0,
        le=600,
        description="mean silence after which a host asks whether its station is still there (ours)",
    )
    first_join_spread_s: float = Field(
        default=2.0,
        ge=0,
        le=600,
        description="hosts that are present from the beginning join at random times within this span (ours)",
    )
