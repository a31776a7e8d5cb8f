r"""Format counts, and names that come from users or files, for readers and shells.

Model     An invisible character is spelled out, as in \u202e, because some of these characters reverse the direction of
          writing for the text that follows.
Source    ours: docs/architecture/command-line.md
"""

from __future__ import annotations

import math
import shlex
import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path


def spell_out(words: str) -> str:
    """Spell out invisible characters for readers. All kinds of spaces are kept. Surrogates, which represent bytes that
    are not text, are left to the output stream.
    """
    if words.isprintable():
        return words
    return "".join(
        c if c.isprintable() or c in "\n\t" or unicodedata.category(c) in ("Zs", "Cs") else _escape(ord(c))
        for c in words
    )


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def percentage(share: float) -> str:
    """Format a share as a percentage, such as `88.4 %`. A share below 1 is never rounded up to 100 %."""
    text = f"{100 * share:.3g}"
    return f"{text if text != '100' or share == 1 else 'just under 100'} %"


def pluralize(number: int, what: str) -> str:
    """Format a count with its noun, such as `1 run`, `2 runs`, `1,000 crashes` or `3 deliveries`. `what` is the
    singular.
    """
    if number == 1:
        return f"1 {what}"
    if what.endswith("y") and what[-2:-1] not in "aeou":
        return f"{number:,} {what[:-1]}ies"
    return f"{number:,} {what}{'es' if what.endswith(('sh', 'ch', 's', 'x')) else 's'}"


def there_are(count: int, what: str, letter: str = "") -> str:
    """Return `there is only 1 host, h0`, `there are 3 hosts, h0 to h2` or `there are no hosts`. Without a letter,
    numbers replace the names.
    """
    if count == 0:
        return f"there are no {pluralize(0, what)[2:]}"
    if count == 1:
        return f"there is only 1 {what}, {letter or 'number '}0"
    return f"there are {pluralize(count, what)}, {letter or 'numbered '}0 to {letter}{count - 1}"


def unknown(kind: str, name: str, known: Sequence[str]) -> str:
    """Return `unknown metric 'delay' (did you mean 'delays'?); the metrics are: delays, losses`."""
    close = get_close_matches(name, known, 1)
    meant = f" (did you mean {close[0]!r}?)" if close else ""
    return f"unknown {kind} {name!r}{meant}; the {kind}s are: {', '.join(known) or 'none'}"


def first_line(error: BaseException) -> str:
    """Return the message of an error as one line, or its kind if it has no message."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def cut(words: str, longest: int) -> str:
    """Shorten each line to at most `longest` characters, because quoted text may have any length. The beginning of a
    line, which names the location, and its end, which states the problem, are kept. Text that has been shortened before
    is not changed.
    """
    return "\n".join(line if len(line) <= longest else _cut_line(line, longest) for line in words.splitlines())


def _cut_line(line: str, longest: int) -> str:
    mark = f"... ({len(line)} characters) ..."
    half = max(1, (longest - len(mark)) // 2)
    return f"{line[:half]}{mark}{line[-half:]}"


def quote(path: Path) -> str:
    """Quote a path for a shell, with invisible characters spelled out in a form that shells understand."""
    name = str(path)
    if name.isprintable():
        return shlex.quote(name)
    return (
        "$'" + spell_out(name.replace("\\", r"\\").replace("'", r"\'")).replace("\n", r"\n").replace("\t", r"\t") + "'"
    )


def as_file_name(words: str) -> str:
    """Turn a string into a file name that does not need quoting in any shell. The result may be empty."""
    return "".join(c if c.isalnum() or c in "-_." else "-" for c in words)[:80].lstrip(".")


def format_number(value: float | int | None) -> str:
    """Format the value of a metric for readers, with commas as thousands separators: 106,167."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:.4g}" if abs(value) < 9999.5 else f"{value:,.0f}"
