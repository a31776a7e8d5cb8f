"""Read the bytes and lines of an external file, which may be compressed with gzip.

Model     A compressed file is recognized by gzip's magic number, regardless of its name. UTF-8 is decoded line by line,
          so that an invalid byte can be reported with its line, and an endless line does not fill the memory.
Errors    ScenarioError, such as `tracks.csv:17: ...`.
Source    RFC 1952; ours: docs/guide/tracks.md
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mobilenet.parameters import ScenarioError

LONGEST_LINE = 100_000
HEAD_BYTES = 1 << 18
GZIP = b"\x1f\x8b"


@contextmanager
def open_tracks(path: Path) -> Iterator[IO[bytes]]:
    """Open a file of tracks, and decompress it if it is compressed with gzip."""
    try:
        with path.open("rb") as plain:
            packed = plain.read(2) == GZIP
            plain.seek(0)
            if not packed:
                yield plain
                return
            with gzip.GzipFile(fileobj=plain) as unpacked:
                yield unpacked  # type: ignore[misc]
    except FileNotFoundError:
        raise ScenarioError(f"{path_text(path)}: file not found") from None
    except EOFError:
        raise ScenarioError(f"{path_text(path)}: a truncated gzip file: its end is missing") from None
    except (gzip.BadGzipFile, zlib.error):
        raise ScenarioError(
            f"{path_text(path)}: a damaged gzip file: its content does not match its checksum"
        ) from None
    except OSError as error:
        raise ScenarioError(
            f"{path_text(path)}: cannot be read: {error.strerror or ' '.join(str(error).split())}"
        ) from None


def head(path: Path) -> str:
    """Return the beginning of the file, for recognizing its format."""
    with open_tracks(path) as stream:
        return stream.read(HEAD_BYTES).decode("utf-8-sig", "replace")


def lines(stream: IO[bytes], file: str, longest: int = LONGEST_LINE) -> Iterator[str]:
    """Yield the lines of the stream, including their line ends."""
    number = 0
    while line := stream.readline(longest):
        number += 1
        if len(line) == longest and not line.endswith(b"\n"):
            raise ScenarioError(f"{file}:{number}: a line of more than {longest} characters")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ScenarioError(f"{file}:{number}:{error.start + 1}: not UTF-8 text") from None


def path_text(path: Path) -> str:
    """Return the path as the user wrote it, with unprintable characters replaced, for a message."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(path))


def short(text: Any) -> str:
    """Return a value from an external source, shortened for a message."""
    text = str(text)
    return repr(text if len(text) <= 40 else text[:37] + "...")
