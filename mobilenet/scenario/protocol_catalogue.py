"""The built-in protocols of hosts and stations. To add a protocol, declare it and list it here.

Source    ours: docs/protocols/mobile-causal.md
"""

from __future__ import annotations

from mobilenet.protocols import names
from mobilenet.protocols.beacon import BeaconLoad
from mobilenet.protocols.declaration import Declaration
from mobilenet.protocols.mobile_causal.declaration import MobileCausal
from mobilenet.protocols.tcp_flooding.declaration import TcpFlooding

SELECTIVE = names.SELECTIVE
DEFAULT = MobileCausal.name  # the protocol of swarms and of new scenarios
CATALOGUE: tuple[type[Declaration], ...] = (MobileCausal, TcpFlooding, BeaconLoad)
