"""Reports on a run or a study: one page for all readers, which needs no network."""

from __future__ import annotations

from pathlib import Path

from mobilenet.record.provenance import stamping_of
from mobilenet.record.stamp import in_page, normal_command

from ..files import whole_file
from ..study_tables import is_study
from .run import run_page
from .study import study_page


def draw(directory: Path, out: Path) -> int:
    """Write the report of a run or a study. Return its size in bytes. Raise RunError or StudyError if the directory is
    neither.
    """
    page, name = (study_page, "STUDY") if is_study(directory) else (run_page, "RUN")
    with whole_file(out, (".html", ".htm")) as partial, stamping_of(directory, normal_command("report", name)):
        content = in_page(page(directory)).encode("utf-8", "backslashreplace")
        partial.write_bytes(content)
    return len(content)
