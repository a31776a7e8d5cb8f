"""A table of a run, stored in columns: words as codes, and numbers as arrays.

Model     the columns are stored by Arrow. Code that reads single rows takes a column as a list. Code that processes
          millions of rows takes the codes. It examines each of the few different words once, and uses array arithmetic
          for the rows
Shapes    codes: (rows,), -1 for a missing value, of the smallest integer type that can hold the number of words;
          numbers: int64 or float64 (rows,)
Errors    TypeError, ValueError, OverflowError for a column that does not have the type in the schema
Source    ours: docs/run-directory.md, docs/performance.md
"""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from mobilenet.record.schema import COLUMNS, NULLABLE
from mobilenet.record.stamp import for_tables

if TYPE_CHECKING:
    import pyarrow as pa

Columns = Mapping[str, Sequence[Any]]
# A column name has the same type in every table.
KINDS = {name: kind for table in COLUMNS.values() for name, kind in table.items()}
# Columns with few different values. They are stored as codes.
CODED = {name for name, kind in KINDS.items() if kind == "string"} | {"session"}
FEW_VALUES = {"value", "rate_mbps", "attempt"}  # numeric columns with few different values
NOTHING = -1  # the code of a missing value
FEW = 100_000  # Tables with fewer rows are joined without the functions of Arrow, because these take time to load.
AT_ONCE = 100_000  # the maximum number of rows that exist as Python objects at a time
IN_PART = 1 << 20  # number of rows in a row group of a Parquet file


class CodedColumn(NamedTuple):
    """A column with few different values: a code for each row, and the value of each code."""

    codes: np.ndarray
    words: list[Any]

    def code(self, word: Any) -> int:
        """Return the code of a value. If the column does not contain the value, return -2, which is never used as a
        code.
        """
        return self.words.index(word) if word in self.words else -2

    def rows(self, *words: Any) -> np.ndarray:
        """Return the rows that have one of these values."""
        return rows_where(self.among(words))

    def among(self, words: Any) -> np.ndarray:
        """Return, for each row, whether its value is one of `words`."""
        return self.map([word in words for word in self.words], nothing=None in words)

    def map(self, by_word: list[Any], nothing: Any) -> np.ndarray:
        """Return, for each row, the entry of `by_word` for its value, or `nothing` if the value is missing."""
        return np.take(np.array([*by_word, nothing]), self.codes)

    def number(self, numbers: Mapping[Any, int]) -> np.ndarray:
        """Return for each row the number of its value as int64, or -1 for a value without a number."""
        return self.map([numbers.get(word, NOTHING) for word in self.words], NOTHING)


def rows_where(is_one: np.ndarray) -> np.ndarray:
    """Return the indices at which `is_one` is true. This needs half as much memory as the function of NumPy."""
    return np.flatnonzero(is_one).astype(np.int32)


def by_code(codes: np.ndarray) -> np.ndarray:
    """Return the indices that sort the codes in ascending order. Equal codes keep their order."""
    # For up to 16 bits, NumPy uses a radix sort, which is ten times as fast.
    return np.argsort(codes, kind="stable").astype(np.int32)


def view(numbers: Any) -> memoryview[int]:
    """Return a view of an array that yields Python numbers. Access to single NumPy numbers would be slow."""
    return memoryview(numbers)


class Values(Sequence[Any]):
    """The values of a column, row by row. Python objects are created on access."""

    def __init__(self, numbers: np.ndarray, words: list[Any] | None = None) -> None:
        """Set up the column. `words` contains the value of each code in `numbers`. If `words` is None, `numbers`
        contains the values.
        """
        self._numbers = numbers
        self._row_by_row: memoryview[Any] = view(numbers)
        self._words = None if words is None else [*words, None]

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, row: int) -> Any: ...
    @overload
    def __getitem__(self, row: slice | np.ndarray) -> list[Any]: ...
    def __getitem__(self, row: int | slice | np.ndarray) -> Any:
        if not isinstance(row, (slice, np.ndarray)):
            value = self._row_by_row[row]
            return value if self._words is None else self._words[value]
        values = self._numbers[row].tolist()
        return values if self._words is None else [self._words[code] for code in values]

    def __iter__(self) -> Iterator[Any]:
        for first in range(0, len(self), AT_ONCE):
            yield from self[first : first + AT_ONCE]


class Table(Mapping[str, Sequence[Any]]):
    """A table of columns of equal length. It is also a mapping from the names of the columns to their values."""

    def __init__(
        self,
        arrow: pa.Table,
        words: Mapping[str, list[Any]] | None = None,
        release: Callable[[], Any] | None = None,
    ) -> None:
        """Set up the table. `words` contains the values by code, for each column that `arrow` stores as codes.
        `release` frees the memory of the contents of a file; they are read again when they are needed.
        """
        self._arrow = arrow
        self._release = release
        self._words = {} if words is None else words
        self._values: dict[str, Values] = {}
        self._coded: dict[str, CodedColumn] = {}
        self._numbers: dict[str, np.ndarray] = {}
        self._fingerprint: str | None = None

    @staticmethod
    def of(columns: Columns) -> Table:
        """Return a table unchanged, or make a table from lists."""
        if isinstance(columns, Table):
            return columns
        import pyarrow as pa

        dictionary = Dictionary()
        arrays = {name: dictionary.encode(name, values) for name, values in columns.items()}
        return Table(pa.table(arrays), dictionary.words())

    def forget(self) -> None:
        """Free the memory of the columns that were created for readers. They are created again on request."""
        for made in (self._values, self._coded, self._numbers):
            made.clear()

    def __getitem__(self, name: str) -> Values:
        values = self._values.get(name)
        if values is None:
            is_full = name not in CODED and KINDS[name] != "bool" and not self._arrow[name].null_count
            values = self._values[name] = Values(self.numbers(name)) if is_full else Values(*self.column(name))
        return values

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrow.column_names)

    def __len__(self) -> int:
        return int(self._arrow.num_columns)

    @property
    def rows(self) -> int:
        return int(self._arrow.num_rows)

    def column(self, name: str) -> CodedColumn:
        """Return a column as codes, in the order in which the values first occur."""
        column = self._coded.get(name)
        if column is None:
            if name in self._words:
                codes, words = self._join(name, np.int32), self._words[name]
            else:
                encoding = self._arrow[name].combine_chunks().dictionary_encode()
                codes, words = _fill(encoding.indices, NOTHING), encoding.dictionary.to_pylist()
            column = self._coded[name] = CodedColumn(codes.astype(np.min_scalar_type(-len(words) - 1)), words)
        return column

    def numbers(self, name: str) -> np.ndarray:
        """Return a column of numbers. The column must not have missing values."""
        numbers = self._numbers.get(name)
        if numbers is None:
            if name in self._words or self._arrow[name].null_count:
                raise TypeError(f"{name} is not a column of numbers, or has rows without a value")
            numbers = self._numbers[name] = self._join(name, np.dtype(KINDS[name]))
        return numbers

    def _join(self, name: str, kind: Any) -> np.ndarray:
        """Return a column of numbers as one array. The column must not have missing values."""
        parts = [_fill(chunk, 0) for chunk in self._arrow[name].chunks]
        if len(parts) == 1:
            return parts[0]
        whole = np.concatenate([np.empty(0, kind), *parts])
        if self._release is not None:
            self._release()
        return whole

    def numbers_or(self, name: str, nothing: int) -> np.ndarray:
        """Return a column of whole numbers, with `nothing` in place of missing values."""
        if name in self._words:
            return self.column(name).map(self._words[name], nothing).astype(np.int64)
        return np.concatenate([_fill(chunk, nothing) for chunk in self._arrow[name].chunks] or [np.empty(0, np.int64)])

    def pick(self, name: str, rows: np.ndarray) -> list[Any]:
        """Return some rows of a column as a list."""
        return self[name][rows]

    def fingerprint(self) -> str:
        """Return the SHA-256 of the columns of events. The digest is independent of how they are stored, and is cached.

        Each column is hashed after its name and its number of rows: integers as 8 bytes little-endian, strings as their
        length and their UTF-8 bytes, and null as a marker.
        """
        if self._fingerprint is None:
            digest = hashlib.sha256()
            for name in COLUMNS["events"]:
                digest.update(f"{name}:{self.rows};".encode())
                if name == "time_ns":
                    for chunk in self._arrow[name].chunks:
                        digest.update(_fill(chunk, 0).astype("<i8", copy=False).tobytes())
                elif self.rows:
                    coded = self.column(name)
                    spellings = [*map(_mark, coded.words), b"\x00"]
                    for first in range(0, self.rows, AT_ONCE):
                        codes = coded.codes[first : first + AT_ONCE]
                        digest.update(_spell(spellings, np.where(codes < 0, len(coded.words), codes)))
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def write(self, path: Path) -> None:
        """Write the table as Parquet."""
        import pyarrow.parquet as pq

        parts = self._parts()
        first = next(parts)
        # Statistics of columns of words are omitted, because queries never ask for a range of words.
        numbers = [name for name in self if name not in CODED]
        few_values = [name for name in self if name in CODED or name in FEW_VALUES]
        # Without Arrow's own metadata, the file declares strings instead of codes of strings.
        with pq.ParquetWriter(
            path, first.schema, store_schema=False, use_dictionary=few_values, write_statistics=numbers
        ) as file:
            for part in chain([first], parts):
                file.write_table(part)
            file.add_key_value_metadata(for_tables())

    def _parts(self) -> Iterator[pa.Table]:
        """Yield the rows of each row group as an Arrow table that contains words instead of codes."""
        import pyarrow as pa

        types = {name: pa.dictionary(pa.int32(), pa.type_for_alias(KINDS[name])) for name in self._words}
        values = {name: _values(words, types[name].value_type) for name, words in self._words.items()}
        for first in range(0, max(1, self.rows), IN_PART):
            part = self._arrow.slice(first, IN_PART)
            arrays = dict(zip(part.column_names, part.columns, strict=True))
            for name, words in values.items():
                coded = (_fill(chunk, NOTHING) for chunk in arrays[name].chunks)
                chunks = [
                    pa.DictionaryArray.from_buffers(types[name], len(codes), _buffers(codes, codes >= 0), words)
                    for codes in coded
                ]
                arrays[name] = pa.chunked_array(chunks, types[name])
            yield pa.table(arrays)
            if self._release is not None:
                self._release()


class _Codes(dict[Any, int]):
    """The codes of the words in a column. A new word gets the next code."""

    def __init__(self) -> None:
        self[None] = NOTHING
        self.fresh: list[Any] = []

    def __missing__(self, word: Any) -> int:
        code = self[word] = len(self) - 1
        self.fresh.append(word)
        return code


class Dictionary:
    """Codes for words. A word that has not occurred before gets the next code."""

    def __init__(self) -> None:
        self._known: dict[str, _Codes] = {}  # one entry for each column

    def encode(self, name: str, values: Sequence[Any]) -> pa.Array:
        """Encode more values of a column. Numbers are unchanged, and words become codes."""
        import pyarrow as pa

        kind = pa.type_for_alias(KINDS[name])
        if name in CODED:
            known = self._known.setdefault(name, _Codes())
            return _numbers(np.fromiter(map(known.__getitem__, values), np.int32, len(values)), pa.int32())
        if name in NULLABLE or KINDS[name] == "bool":
            return pa.array(values, kind)
        return _numbers(np.frombuffer(array("d" if KINDS[name] == "double" else "q", values), KINDS[name]), kind)

    def words(self) -> dict[str, list[Any]]:
        """Return the words of each column by code."""
        return {name: list(known)[1:] for name, known in self._known.items()}

    def take_fresh(self) -> dict[str, list[Any]]:
        """Return the words that were added since the last call."""
        fresh = {name: known.fresh for name, known in self._known.items()}
        for known in self._known.values():
            known.fresh = []
        return fresh


# The function pyarrow.array would do the same, but it loads pandas, which takes as long as a short run.


def _numbers(numbers: np.ndarray, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(numbers), _buffers(numbers))


def _buffers(numbers: np.ndarray, is_there: np.ndarray | None = None) -> list[pa.Buffer | None]:
    import pyarrow as pa

    if is_there is None or is_there.all():
        return [None, pa.py_buffer(numbers)]
    return [pa.py_buffer(np.packbits(is_there, bitorder="little")), pa.py_buffer(numbers)]


def _values(words: list[Any], kind: pa.DataType) -> pa.Array:
    if str(kind) == "string":
        return _texts([word.encode() for word in words], kind)
    return _numbers(np.array(words, np.int64), kind)


def _texts(texts: list[bytes], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    offsets = np.zeros(len(texts) + 1, np.int64 if kind == pa.large_binary() else np.int32)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return pa.Array.from_buffers(kind, len(texts), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))])


def _fill(numbers: pa.Array, nothing: int) -> np.ndarray:
    """Return the numbers of an Arrow array, with `nothing` in place of missing values. Arrow's own function is not
    used, because it takes long to load.
    """
    bits, data = numbers.buffers()
    begin, end = numbers.offset, numbers.offset + len(numbers)
    values = np.frombuffer(data or b"", numbers.type.to_pandas_dtype(), end)[begin:]
    if not numbers.null_count:
        return values
    return np.where(np.unpackbits(np.frombuffer(bits, np.uint8), count=end, bitorder="little")[begin:], values, nothing)


def _mark(value: Any) -> bytes:
    if isinstance(value, int):
        return b"\x01" + struct.pack("<q", value)
    text = str(value).encode()
    return b"\x02" + struct.pack("<I", len(text)) + text


def _spell(texts: list[bytes], codes: np.ndarray) -> pa.Buffer | bytes:
    """Return the strings of all rows, concatenated."""
    if len(codes) < FEW:
        return b"".join(map(texts.__getitem__, codes.tolist()))
    import pyarrow as pa

    rows = _numbers(np.ascontiguousarray(codes, np.int32), pa.int32())
    return _texts(texts, pa.large_binary()).take(rows).buffers()[2]
