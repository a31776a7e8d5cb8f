"""Judge a run from its record: did the protocol keep its promises? Nothing here knows how any protocol works.

Model     a verdict is valid, violated (with an explanation) or unknown (nothing to judge, or not at rest). Records that
          are plainly in order pass as whole columns (column_screen.py): a screening reports that the full examination
          would find nothing, or it reports nothing at all. The examination is the judge that reads one event after the
          other: only it reports what is wrong, and in which words
Source    Hadzilacos, Toueg, A modular approach to fault-tolerant broadcasts and related problems (1994), for
          the properties; ours: docs/verdicts-and-metrics.md
"""

from mobilenet.verify.check import promise
from mobilenet.verify.judge import Evidence, Verdict, verify, verify_run

__all__ = ["Evidence", "Verdict", "promise", "verify", "verify_run"]
