"""Store the older rows of a growing table as typed columns, in a file of the run directory.

Model     the file is a stream of Arrow batches. Words (repeated values) are stored as codes, and each batch contains
          the words that occur in it for the first time. A stream can be read up to its last complete batch, even if the
          process that wrote it was killed
Errors    OSError for a file that cannot be written, for example because the disk is full
Source    ours: docs/run-directory.md
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from mmap import ACCESS_READ, MADV_DONTNEED, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mobilenet.record.table import Dictionary, Table

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = ".arrows"  # Arrow's suffix for streams


class Batches:
    """The rows of one table, in the order in which they were added."""

    def __init__(self, path: Path | None) -> None:
        """Create an empty store. `path`: the file for the rows, or None to keep them in memory."""
        self._path = path
        self._dictionary = Dictionary()
        self._in_memory: list[pa.RecordBatch] = []
        self._file: Any = None
        self._writer: pa.RecordBatchStreamWriter | None = None

    def create_file(self) -> None:
        """Create an empty file. If the process is killed, it shows that the record lacks this table."""
        if self._path is not None:
            self._path.touch()

    def add(self, columns: Mapping[str, list[Any]], until_ns: int) -> None:
        """Write these rows as a batch. The batches then contain all rows up to the simulated time `until_ns`."""
        import pyarrow as pa

        batch = pa.record_batch(self._encode(columns))
        if self._path is None:
            self._in_memory.append(batch)
            return
        if self._writer is None:
            self._file = pa.OSFile(str(self._path), "wb")
            self._writer = pa.ipc.new_stream(self._file, batch.schema)
        words = json.dumps(self._dictionary.take_fresh())
        self._writer.write_batch(batch, {"until_ns": str(until_ns), "words": words})

    def table(self, columns: Mapping[str, list[Any]]) -> Table:
        """Return a table of all rows: the rows in the batches, and then the rows in `columns`."""
        import pyarrow as pa

        last = pa.record_batch(self._encode(columns))
        if self._path is None or self._writer is None:
            return Table(pa.Table.from_batches([*self._in_memory, last]), self._dictionary.words())
        written = read_batches(self._path)
        return Table(pa.Table.from_batches([*written.batches, last]), self._dictionary.words(), written.release)

    def remove(self) -> None:
        """Remove the file. Tables that were made from it remain valid."""
        if self._writer is not None:
            assert self._path is not None
            self._writer.close()
            self._file.close()
            self._path.unlink()

    def _encode(self, columns: Mapping[str, list[Any]]) -> dict[str, pa.Array]:
        return {name: self._dictionary.encode(name, values) for name, values in columns.items()}


class Written(NamedTuple):
    """The contents of a file of batches, as read from the disk."""

    batches: list[pa.RecordBatch]
    until_ns: list[int]  # for each batch, the simulated time up to which it contains all rows
    words: dict[str, list[Any]]  # column -> its words, indexed by code
    release: Callable[[], Any]  # a function that frees the memory of the contents

    def table(self, until_ns: int) -> Table:
        """Return the rows of the batches that are complete at that time."""
        import pyarrow as pa

        whole = [batch for batch, until in zip(self.batches, self.until_ns, strict=True) if until <= until_ns]
        return Table(pa.Table.from_batches(whole, self.batches[0].schema), self.words, self.release)


def read_batches(path: Path) -> Written:
    """Read the file up to its last complete batch."""
    import pyarrow as pa

    with path.open("rb") as file:
        memory = mmap(file.fileno(), 0, access=ACCESS_READ)
    written = Written([], [], {}, partial(memory.madvise, MADV_DONTNEED))
    # The loop ends at the end of the file, which may be incomplete.
    with suppress(pa.ArrowInvalid, OSError, StopIteration):
        stream = pa.ipc.open_stream(pa.py_buffer(memory))
        while True:
            batch, metadata = stream.read_next_batch_with_custom_metadata()
            for name, words in json.loads(metadata[b"words"]).items():
                written.words.setdefault(name, []).extend(words)
            written.until_ns.append(int(metadata[b"until_ns"]))
            written.batches.append(batch)
    return written
