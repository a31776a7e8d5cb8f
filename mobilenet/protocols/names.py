"""Names of the built-in protocols, for code that offers them without loading them.

Model     tests/test_protocol_names.py compares them with the declarations and the catalogues
Source    ours: docs/protocols/mobile-causal.md, docs/protocols/vcube.md
"""

from __future__ import annotations

from enum import Enum

ON_THE_RADIO = ("mobile_causal", "tcp_flooding")  # the first one is the default
AMONG_PROCESSES = ("best_effort", "reliable", "all_to_all", "disjoint_paths", "causal", "causal_reliable")
REAL_TIME = ("datagrams", "ip")  # protocols that carry the traffic of programs
DEFAULT = ON_THE_RADIO[0]
SELECTIVE = "mobile_causal_selective"  # the name of the default protocol with `repair: selective` in swarms
# The lines of the paper that apply when a host enters another cell.
RULE_OF_A_NEW_SESSION = {DEFAULT: "Wilhelm, Arantes, Sens (2020), Algorithm 1, lines 6-9"}


class Backbone(Enum):
    TREE = "tree"
    BEST_EFFORT = "vcube_best_effort"
    RELIABLE = "vcube_reliable"
    CAUSAL = "vcube_causal"
