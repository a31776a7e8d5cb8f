"""Whole columns looked at once: what is plainly in order passes, and only the rest is examined event by event.

Model     a screening says that its examination would find nothing, or it says nothing at all. The examination is the
          judge that reads one event after the other: it alone says what is wrong, and in which words. So nobody's
          verdict depends on a screening, only how long it takes; tests hold each of them to its examination
Source    ours: docs/performance.md
"""
