"""Figures of runs, studies and answers to claims, for screens and for papers."""

from .claims import claims_figures
from .runs import run_figure, run_figures
from .studies import study_figure, study_figures

__all__ = ["claims_figures", "run_figure", "run_figures", "study_figure", "study_figures"]
