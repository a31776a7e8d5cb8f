"""Pages of the site that lie outside docs/: the README, which is the first page, and others of the clone.

Model     a hook of mkdocs. Each page is made of its file when the site is built, and links to these files, from
          wherever, lead to their pages. What else lies outside has no page: its link becomes plain text
Source    ours: CONTRIBUTING.md
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PAGES = {  # file of the clone -> page of the site
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "scenarios/REFERENCE.md": "reference.md",
}
WIDE = {"reference.md"}  # tables that want the room of the table of contents
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)|(!\[[^\]]*\])\(([^()\s]+)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    here = page.file.src_uri
    if here in WIDE:
        page.meta["hide"] = ["toc"]
    sources = {site: source for source, site in PAGES.items()}
    return relink(markdown, sources.get(here, f"docs/{here}"), here)


def relink(markdown: str, source: str, page: str) -> str:
    """The text of a file of the clone with its links as they are on a page of the site."""

    def link(match: re.Match[str]) -> str:
        words, target = (f"[{match[1]}]", match[2]) if match[2] else (match[3], match[4])
        path, hash_, heading = target.partition("#")
        if "://" in target or not path:
            return match[0]
        full = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if full in PAGES:
            full = PAGES[full]
        elif full.startswith("docs/"):
            full = full.removeprefix("docs/")
        else:
            return match[1] or words
        return f"{words}({posixpath.relpath(full, posixpath.dirname(page) or '.')}{hash_}{heading})"

    return LINK.sub(link, markdown)
