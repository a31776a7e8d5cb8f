"""Scripts, styles, fonts and icons of other projects, which are included in pages.

Model     Each library has a folder with its licence. README.md lists versions, licences and omitted files. No two files
          except licences have the same name.
Errors    KeyError for an unknown name
Source    README.md in this folder
"""

from __future__ import annotations

import base64
import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

TYPES = {".png": "image/png", ".woff2": "font/woff2"}


@cache
def _files() -> dict[str, Traversable]:
    folders = [folder for folder in files(__name__).iterdir() if folder.is_dir() and folder.name != "__pycache__"]
    return {file.name: file for folder in folders for file in folder.iterdir() if file.name != "LICENSE"}


def is_vendored(name: str) -> bool:
    return name in _files()


def text(name: str) -> str:
    """Return a script or a style sheet unchanged."""
    return _files()[name].read_text(encoding="utf-8")


def style(name: str) -> str:
    """Return a style sheet with its icons and fonts embedded as data, so that it loads nothing."""
    return re.sub(
        r"url\(['\"]?([\w.-]+\.(?:png|woff2))['\"]?\)", lambda match: f"url({data_url(match[1])})", text(name)
    )


def data_url(name: str) -> str:
    """Return an icon or a font as a data URL."""
    kind = TYPES[name[name.rindex(".") :]]
    return f"data:{kind};base64,{base64.b64encode(_files()[name].read_bytes()).decode('ascii')}"
