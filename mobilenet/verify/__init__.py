"""Judging a run from what it recorded; nothing here knows how any protocol works.

Model     three verdicts: valid, violated (with an explanation), unknown (nothing to judge, or not quiescent)
Source    Hadzilacos, Toueg, A modular approach to fault-tolerant broadcasts and related problems (1994), for
          the properties; ours: docs/verdicts-and-metrics.md
"""

from mobilenet.verify.judge import Verdict, verify, verify_run

__all__ = ["Verdict", "verify", "verify_run"]
