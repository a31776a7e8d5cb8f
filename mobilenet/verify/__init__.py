"""Judge from the record of a run whether the protocol kept its promises. No check depends on how a protocol works.

Model     a verdict is valid, violated (with an explanation) or unknown (no evidence, or the run is not at rest). A fast
          screening of whole columns (column_screen.py) recognises records that are clearly correct. All other records
          are examined by a judge that reads one event after the other. Only the judge reports violations
Source    Hadzilacos, Toueg, A modular approach to fault-tolerant broadcasts and related problems (1994), for
          the properties; ours: docs/verdicts-and-metrics.md
"""

from mobilenet.verify.check import promise
from mobilenet.verify.judge import Evidence, Verdict, verify, verify_run

__all__ = ["Evidence", "Verdict", "promise", "verify", "verify_run"]
