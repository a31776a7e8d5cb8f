"""Judge a run from its record: did the protocol keep its promises? No code here knows how a protocol works.

Model     a verdict is valid, violated (with an explanation) or unknown (no evidence, or the run is not at rest).
          Records that are clearly correct pass a screening of whole columns (column_screen.py). It either shows that
          the full examination would find nothing, or shows nothing at all. The examination is a judge that reads one
          event after the other, and only the judge reports what is wrong
Source    Hadzilacos, Toueg, A modular approach to fault-tolerant broadcasts and related problems (1994), for
          the properties; ours: docs/verdicts-and-metrics.md
"""

from mobilenet.verify.check import promise
from mobilenet.verify.judge import Evidence, Verdict, verify, verify_run

__all__ = ["Evidence", "Verdict", "promise", "verify", "verify_run"]
