"""The settings of TCP flooding. The settings of TCP itself are separate groups.

Units     seconds and milliseconds, as the names show
Errors    pydantic.ValidationError at construction only
Source    "paper" is Wilhelm, Arantes, Sens: A scalable causal broadcast that tolerates dynamics of mobile networks
          (2020), section V.A; the rest is from docs/protocols/tcp-flooding.md
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mobilenet.parameters import Parameters


class TcpFloodingParameters(Parameters):
    """Causal broadcast by flooding over TCP connections, which is the paper's baseline."""

    spacing_ms: float = Field(
        default=5.0,
        ge=0,
        le=10_000,
        description="time between the copies that a station sends to the hosts of its cell (paper: 5)",
    )
    spacing: Literal["per_message", "per_queue"] = Field(
        default="per_message",
        description="whether the spacing applies per message or to all copies of a station (paper: per message)",
    )
    echo: bool = Field(
        default=False,
        description="also send a message back over the link on which it arrived, as in PC-broadcast",
    )
    handoff_wait_s: float = Field(
        default=2.0,
        gt=0,
        le=600,
        description="time after which the old link is closed even if the new one is not safe (not in the paper)",
    )
    reconnect_s: float = Field(
        default=0.25,
        gt=0,
        le=60,
        description="mean wait before a refused or lost connection is requested again (not in the paper)",
    )
    silence_s: float = Field(
        default=10.0,
        gt=0,
        le=600,
        description="mean silence after which a host probes its station (not in the paper)",
    )
    first_join_spread_s: float = Field(
        default=2.0,
        ge=0,
        le=600,
        description=(
            "period in which hosts that are present from the beginning join, at random times (not in the paper)"
        ),
    )
