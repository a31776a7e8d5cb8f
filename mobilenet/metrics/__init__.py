"""The numbers of a run, from its record alone."""

from mobilenet.metrics.mobile import metrics

__all__ = ["metrics"]
