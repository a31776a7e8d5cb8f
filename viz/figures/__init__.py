"""Figures of runs and studies, for screens and for papers."""

from .runs import run_figure, run_figures
from .studies import study_figure, study_figures

__all__ = ["run_figure", "run_figures", "study_figure", "study_figures"]
