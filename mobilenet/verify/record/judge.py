"""Check that a whole record contradicts neither itself nor its scenario.

Checks    totals     of the network never fall: see totals.py
          cells      hosts deliver and refuse where they are recorded to be: see cells.py
          planned    what the scenario plans happened: see planned.py
          switched   nothing went over links that were cut, and radios that were off: see switched.py
          places     all nodes were where the scenario lets them be: see places.py
          delays     nothing came sooner than the radio and the wires allow: see delays.py
          handoffs   their details fit to what follows: see handoffs.py
          buffers    their sizes follow from events, as far as they do: see buffers.py
          one stream hosts of a station deliver in its order: see air/one_stream.py
          quantities only what runs of the protocol measure was sampled: see quantities.py
          emptied    buffers of hosts that leave or crash are empty: see emptied.py
Model     what is contradicted here can still be read, so all properties are judged as well
Source    ours: docs/verdicts-and-metrics.md
"""

from __future__ import annotations

from mobilenet.verify.air.one_stream import order_problem
from mobilenet.verify.basis.evidence import Evidence
from mobilenet.verify.record.buffers import buffers_problem
from mobilenet.verify.record.cells import cells_problem
from mobilenet.verify.record.delays import delays_problem
from mobilenet.verify.record.emptied import emptied_problem
from mobilenet.verify.record.handoffs import handoffs_problem
from mobilenet.verify.record.places import places_problem
from mobilenet.verify.record.planned import planned_problem
from mobilenet.verify.record.quantities import quantities_problem
from mobilenet.verify.record.switched import switched_problem
from mobilenet.verify.record.totals import totals_problem


def record_contradiction(run: Evidence) -> str | None:
    """The first contradiction; without what is expected only those within the record."""
    events, samples, manifest, expected = run.events, run.samples, run.manifest, run.expected
    return (
        totals_problem(events, samples, manifest, expected)
        or cells_problem(events, expected is None or expected.has_datagrams)
        or planned_problem(events, expected)
        or switched_problem(events, expected)
        or places_problem(events, run.positions, expected)
        or delays_problem(events, expected)
        or handoffs_problem(events, samples, run.conduct, manifest)
        or buffers_problem(events, samples, manifest, expected)
        or order_problem(events, run.conduct)
        or quantities_problem(samples, manifest, expected)
        or emptied_problem(events, samples, expected)
    )
