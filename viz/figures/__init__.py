"""Figures of runs and studies, for screens and for papers."""

from .runs import run_figures
from .studies import study_figures

__all__ = ["run_figures", "study_figures"]
