"""The names of the protocols that come with mobilenet, for code that offers them without loading them.

Model     tests/test_protocol_names.py holds them to the declarations and the catalogues
Source    ours: docs/protocols/mobile-causal.md, docs/protocols/vcube.md
"""

from __future__ import annotations

from enum import Enum

ON_THE_RADIO = ("mobile_causal", "tcp_flooding")  # the first is the default
AMONG_PROCESSES = ("best_effort", "reliable", "all_to_all", "disjoint_paths", "causal", "causal_reliable")
REAL_TIME = ("datagrams", "ip")  # protocols of programs
DEFAULT = ON_THE_RADIO[0]
SELECTIVE = "mobile_causal_selective"  # for the swarm: the default with `repair: selective`
RULE_OF_A_NEW_SESSION = {DEFAULT: "Wilhelm, Arantes, Sens (2020), Algorithm 1, lines 6-9"}  # upon changing cell


class Backbone(Enum):
    TREE = "tree"
    BEST_EFFORT = "vcube_best_effort"
    RELIABLE = "vcube_reliable"
    CAUSAL = "vcube_causal"
