"""Judging a run from what it recorded; nothing here knows how any protocol works.

Model     three verdicts: valid, violated (with an explanation), unknown (nothing to judge, or not quiescent).
          What is plainly in order passes as whole columns (screened_*.py): a screening reports that its examination
          would find nothing, or it reports nothing at all. The examination is the judge that reads one event after the
          other: only it reports what is wrong, and in which words. So no verdict depends on a screening, only
          how long it takes; tests hold each of them to its examination
Source    Hadzilacos, Toueg, A modular approach to fault-tolerant broadcasts and related problems (1994), for
          the properties; ours: docs/verdicts-and-metrics.md
"""

from mobilenet.verify.judge import Verdict, verify, verify_run

__all__ = ["Verdict", "verify", "verify_run"]
