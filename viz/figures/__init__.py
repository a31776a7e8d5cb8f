"""Figures of runs and studies, for screens and for papers."""

from viz.figures.runs import run_figures
from viz.figures.studies import study_figures

__all__ = ["run_figures", "study_figures"]
