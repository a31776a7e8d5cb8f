"""Read XML from untrusted sources in pieces, discarding each element after it is handled.

Model     The file is read in pieces of 64 kB. Three things are rejected: a document type (and with it, entities that
          expand), more than DEEPEST levels, and an element or a text longer than LONGEST bytes.
Errors    ScenarioError, such as `fcd.xml:17:5: ...`, with the line and column at which the element begins.
Source    XML 1.0; expat
"""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any
from xml.parsers import expat

from mobilenet.parameters import ScenarioError

PIECE = 1 << 16
DEEPEST = 32
LONGEST = 1 << 22

Attributes = dict[str, str]


class Xml:
    """A parser that calls `start(name, attributes)` and `end(name, text)`, with names without namespaces."""

    def __init__(
        self, file: str, start: Callable[[str, Attributes], None], end: Callable[[str, str], None] | None = None
    ) -> None:
        self.file = file
        self.comments: list[str] = []
        self.open: list[str] = []
        self._start, self._end = start, end
        self._text: list[str] = []
        # The number of bytes parsed so far, and its value when an element last began or ended.
        self._fed = self._heard_at = 0
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._on_start
        parser.EndElementHandler = self._on_end
        if end is not None:
            parser.CharacterDataHandler = self._text.append
        parser.CommentHandler = lambda text: self.comments.append(text[:LONGEST]) if not self.open else None
        parser.StartDoctypeDeclHandler = self._refuse_doctype

    @property
    def line(self) -> int:
        return self._parser.CurrentLineNumber

    @property
    def column(self) -> int:
        return self._parser.CurrentColumnNumber + 1

    def error(self, what: str) -> ScenarioError:
        return ScenarioError(f"{self.file}:{self.line}:{self.column}: {what}")

    def parse(self, stream: IO[bytes]) -> None:
        fed = 0
        try:
            while piece := stream.read(PIECE):
                fed += len(piece)
                self._parser.Parse(piece, False)
                if fed - self._heard_at > LONGEST + PIECE:
                    raise self.error(f"no element begins or ends within {LONGEST} bytes")
                self._fed = fed
            self._parser.Parse(b"", True)
        except expat.ExpatError as error:
            where = f"{self.file}:{error.lineno}:{error.offset + 1}"
            inside = f", inside <{self.open[-1][:40]}>" if self.open else ""
            raise ScenarioError(f"{where}: not XML: {expat.errors.messages[error.code]}{inside}") from None
        except (ValueError, LookupError) as error:  # the encoding is unknown
            raise ScenarioError(f"{self.file}: not readable as XML: {error}; expected UTF-8") from None

    def _on_start(self, name: str, attributes: Attributes) -> None:
        name = name.rpartition(":")[2]
        self._heard_at = self._fed
        self.open.append(name)
        if len(self.open) > DEEPEST:
            raise self.error(f"elements nested more than {DEEPEST} levels deep")
        self._text.clear()
        self._start(name, attributes)

    def _on_end(self, name: str) -> None:
        self._heard_at = self._fed
        if self._end is not None:
            self._end(self.open[-1], "".join(self._text).strip())
        self._text.clear()
        self.open.pop()

    def _refuse_doctype(self, name: str, *rest: Any) -> None:
        raise self.error("a document type (<!DOCTYPE>), which could make the content grow without limit; remove it")
