"""Holding `frames`, `links` and `messages` to the scenario and to the rest of the record, where they are recorded.

Source    ours: docs/verdicts-and-metrics.md
"""
