"""List what nodes still wait for at the end of a run that did not come to rest.

Model     the record shows buffers that hold messages, handoffs that have not ended, and hosts that never became
          members. If it shows none of these, the list in the manifest is used
Units     seconds
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mobilenet.quoting import pluralize
from mobilenet.record.table import Columns
from mobilenet.verify.broadcasts.sessions import unfinished_handoffs

MOST_NAMED = 3


def nonempty_buffers(sizes: dict[tuple[str, str], float]) -> list[str]:
    """Return a sentence for each buffer that is not empty. `sizes`: the sizes at the end, by node and buffer."""
    return [
        f"{node} still holds {pluralize(int(size), 'message')} in its {quantity}"
        for (node, quantity), size in sizes.items()
        if size
    ]


def waiting(events: Columns, sizes: dict[tuple[str, str], float], manifest: Mapping[str, Any]) -> str:
    """Return in one line what the run was still waiting for."""
    hosts = manifest["hosts"]
    reasons = [*nonempty_buffers(sizes), *(f"{host} is in a handoff" for host in unfinished_handoffs(events))]
    joined = {node for node, event in zip(events["node"], events["event"], strict=True) if event == "join"}
    reasons += [f"h{host} never became a member" for host in range(hosts or 0) if f"h{host}" not in joined]
    return first_few(reasons or reported_unrest(manifest))


def reported_unrest(manifest: Mapping[str, Any]) -> list[str]:
    """Return what was not at rest according to the manifest. This has no influence on verdicts."""
    entries = manifest.get("not_at_rest")
    return [text for text in entries if isinstance(text, str)] if isinstance(entries, list) else []


def first_few(reasons: Sequence[str]) -> str:
    """Return the first reasons in one line, and how many more there are."""
    if not reasons:
        return "something was in progress that the record does not show"
    more = len(reasons) - MOST_NAMED
    return "; ".join(reasons[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
