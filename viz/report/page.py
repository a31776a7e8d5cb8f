"""The layout of all reports: the verdict, the answer in words, numbers, figures, and how to repeat the work.

Model     The function `text` escapes every external string. Figures are SVG images, so scripts in them do not run. The
          page makes no requests and has no scripts.
Source    ours: docs/guide/pictures.md
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from mobilenet.quoting import spell_out

from ..style import DrawnFigure, cut, in_our_colours

LONGEST = 20_000  # the maximum number of characters in one string

Section = tuple[str, str]  # heading, HTML


def text(value: object) -> str:
    """Return a string as escaped HTML on one line, with limited length and an isolated writing direction."""
    words = str(value)
    if len(words) > LONGEST:
        words = words[:LONGEST] + f"… ({len(words) - LONGEST:,} more characters)"
    return f"<bdi>{escape(words)}</bdi>"


def code(value: object) -> str:
    """Return the string with invisible characters spelled out, because some of them change the writing direction."""
    return f"<pre tabindex=0>{escape(spell_out(str(value)))}</pre>"


def paragraph(*words: str) -> str:
    return f"<p>{' '.join(words)}</p>"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], numbers: int = 1) -> str:
    """Return a table as HTML. The columns from index `numbers` on contain numbers, and the earlier ones text."""

    def cells(row: Sequence[object], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=n' if place >= numbers else ''}>{text(cell)}</{tag[:2]}>" for place, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    top = f"<thead><tr>{cells(head, 'th scope=col')}</tr></thead>"
    return f"<div class=wide tabindex=0><table>{top}<tbody>{body}</tbody></table></div>"


def bullets(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{text(line)}</li>' for line in lines)}</ul>"


def radio(words: str | None) -> str:
    """Return a paragraph about the radio, as in the methods section of a paper."""
    return "" if words is None else paragraph(text(f"Radio: {words}."))


def details(summary: str, inside: str) -> str:
    return f"<details><summary>{text(summary)}</summary>{inside}</details>"


# These figures answer the question of a study, so they have the full width of the page.
BROAD = ("curve", "means", "comparison")


def pictures(drawn: Iterable[DrawnFigure]) -> str:
    """Return SVG files as part of the page, each with its caption below it."""
    figures = []
    for title, path, note in drawn:
        data = base64.b64encode(path.read_bytes()).decode()
        broad = " class=broad" if path.stem in BROAD else ""
        image = f"<img alt='{escape(title, quote=True)}' src='data:image/svg+xml;base64,{data}'>"
        figures.append(f"<figure{broad}>{image}<figcaption>{text(note)}</figcaption></figure>")
    return f"<div class=figures>{''.join(figures)}</div>"


def embedded_page(html: str, title: str) -> str:
    """Return an HTML frame that contains a complete page of mobilenet."""
    inside = html.replace("&", "&amp;").replace('"', "&quot;")
    return f'<iframe title="{escape(title)}" srcdoc="{inside}"></iframe>'


def whole(title: str, verdict: str, subtitle: str, answer: str, sections: Iterable[Section]) -> str:
    """Return the complete page. `verdict` is valid, violated or unknown; `subtitle`, `answer` and the sections are
    HTML.
    """
    style = in_our_colours(files(str(__package__)).joinpath("report.css").read_text(encoding="utf-8"))
    body = "".join(f"<section><h2>{text(heading)}</h2>{inside}</section>" for heading, inside in sections if inside)
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width,"
        " initial-scale=1'><meta http-equiv=Content-Security-Policy content=\"default-src 'none'; img-src data: blob:;"
        " style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-src"
        f" 'self'\"><title>{escape(cut(title, 200))}</title><style>{style}</style></head><body><header><p"
        f" class='verdict {verdict}'>{verdict}</p><h1>{text(title)}</h1><p"
        f" class=sub>{subtitle}</p></header><main><section class=answer>{answer}</section>{body}</main></body></html>\n"
    )
