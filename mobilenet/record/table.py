"""One table of a run as whole columns: texts as codes, numbers as arrays, each made once for all readers.

Model     readers of rows take a column as a list; code that counts, compares and judges a million rows takes
          codes: a column of texts has few different ones, so each is read once, and the rest is arithmetic. The
          table must not change: what is added to a list after a column was coded is not seen
Shapes    codes: int32 (rows,), -1 where there is nothing; numbers: int64 or float64 (rows,)
Errors    TypeError, ValueError, OverflowError for a column that is not of the type that the schema promises
Source    ours: docs/run-directory.md, docs/performance.md
"""

from __future__ import annotations

import hashlib
import struct
from array import array
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mobilenet.record.schema import COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa

Columns = Mapping[str, list[Any]]
DOUBLES = frozenset(name for table in COLUMNS.values() for name, kind in table.items() if kind == "double")
NOTHING = -1  # the code of what is not there
FEW = 100_000  # rows that are joined as fast without the functions of Arrow, which take longer than that to load


class CodedColumn(NamedTuple):
    """A column of few different values: their codes row by row, and the values by code."""

    codes: np.ndarray
    words: list[Any]

    def code(self, word: Any) -> int:
        """The code of a value; -2, which no row has, if it is not in the column."""
        return self.words.index(word) if word in self.words else -2

    def rows(self, *words: Any) -> np.ndarray:
        """The rows that have one of these values."""
        return np.flatnonzero(self.among(words))

    def among(self, words: Any) -> np.ndarray:
        """Row by row, whether its value is one of these."""
        return self.map([word in words for word in self.words], nothing=None in words)

    def map(self, by_word: list[Any], nothing: Any) -> np.ndarray:
        """Row by row, what `by_word` has for its value."""
        return np.take(np.array([*by_word, nothing]), self.codes)


def by_code(codes: np.ndarray) -> np.ndarray:
    """The positions of codes in ascending order, those of equal codes in theirs.

    NumPy sorts 8 and 16 bits by radix, ten times as fast as 32 or 64.
    """
    least, most = (int(codes.min()), int(codes.max())) if len(codes) else (0, 0)
    return np.argsort((codes - least).astype(np.min_scalar_type(most - least)), kind="stable")


class Table(Mapping[str, list[Any]]):
    """Equally long columns, from lists or from Arrow; as a mapping, name -> list."""

    def __init__(self, lists: Mapping[str, list[Any]], arrow: pa.Table | None = None) -> None:
        """`arrow`: where columns that are in no list are taken from, when they are asked for."""
        self._lists = dict(lists)
        self._arrow = arrow
        self._names = tuple(self._lists) if arrow is None else tuple(arrow.column_names)
        self._coded: dict[str, CodedColumn] = {}
        self._numbers: dict[str, np.ndarray] = {}
        self._fingerprint: str | None = None

    @staticmethod
    def of(columns: Mapping[str, list[Any]]) -> Table:
        """Return a table as it is, and make one of columns."""
        return columns if isinstance(columns, Table) else Table(columns)

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self._lists and self._arrow is not None:
            self._lists[name] = self._arrow[name].to_pylist()
        return self._lists[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def rows(self) -> int:
        return len(self[self._names[0]]) if self._arrow is None else self._arrow.num_rows

    def column(self, name: str) -> CodedColumn:
        """A column by codes, in the order in which its values occur first."""
        column = self._coded.get(name)
        if column is None:
            known = self._lists.get(name)
            column = self._coded[name] = _encode(known) if known is not None else self._coded_by_arrow(name)
        return column

    def numbers(self, name: str) -> np.ndarray:
        """A column of numbers, none of which may be missing."""
        numbers = self._numbers.get(name)
        if numbers is None:
            typecode = "d" if name in DOUBLES else "q"
            if name in self._lists or self._arrow is None:
                numbers = np.frombuffer(array(typecode, self[name]), typecode)
            else:
                column = self._arrow[name].combine_chunks()
                if column.null_count:
                    raise TypeError(f"{name} has rows without a value")
                numbers = np.frombuffer(column.buffers()[1], typecode)[column.offset : column.offset + len(column)]
            self._numbers[name] = numbers
        return numbers

    def numbers_or(self, name: str, nothing: int) -> np.ndarray:
        """A column of whole numbers, with another number where one is missing."""
        if name in self._lists or self._arrow is None:
            values = self[name]
            return np.fromiter((nothing if value is None else value for value in values), np.int64, len(values))
        column = self._arrow[name]
        if column.null_count == len(column):
            return np.full(len(column), nothing, np.int64)
        return np.asarray(column.fill_null(nothing))

    def pick(self, name: str, rows: np.ndarray) -> list[Any]:
        """Some rows of a column as a list."""
        if name in self._lists or self._arrow is None:
            values = self[name]
            return [values[row] for row in rows.tolist()]
        if name == "time_ns" or name in DOUBLES:
            return list(self.numbers(name)[rows].tolist())
        words = [*self.column(name).words, None]
        return [words[code] for code in self.column(name).codes[rows].tolist()]

    def fingerprint(self) -> str:
        """Return the fingerprint of events, as in recorder.py; computed once."""
        if self._fingerprint is None:
            digest = hashlib.sha256()
            for name in COLUMNS["events"]:
                digest.update(f"{name}:{self.rows};".encode())
                if name == "time_ns":
                    digest.update(self.numbers(name).astype("<i8", copy=False).tobytes())
                elif self.rows:
                    coded = self.column(name)
                    spellings = [*map(_mark, coded.words), b"\x00"]
                    codes = np.where(coded.codes < 0, len(coded.words), coded.codes)
                    digest.update(_spell(spellings, codes))
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    def arrow(self, name: str, kind: str) -> pa.Array:
        """A column as Arrow has it; texts by their codes."""
        import pyarrow as pa

        if kind in ("int64", "double"):
            values, buffers = self._numbers_or_nothing(name)
            return pa.Array.from_buffers(pa.type_for_alias(kind), len(values), [buffers[0], pa.py_buffer(values)])
        if kind != "string":
            return pa.array(self[name], type=pa.type_for_alias(kind))
        coded = self.column(name)
        words = _texts([word.encode() for word in coded.words], pa.string())
        return pa.DictionaryArray.from_buffers(
            pa.dictionary(pa.int32(), pa.string()), len(coded.codes), _codes(coded.codes), words
        )

    def _numbers_or_nothing(self, name: str) -> tuple[np.ndarray, list[pa.Buffer | None]]:
        """The numbers of a column, and Arrow's buffers, of which the first one marks where there is one."""
        try:
            return self.numbers(name), [None]
        except TypeError:  # not everywhere
            coded = self.column(name)
            return coded.map(coded.words, nothing=0).astype(np.int64), _codes(coded.codes)

    def _coded_by_arrow(self, name: str) -> CodedColumn:
        assert self._arrow is not None
        column = self._arrow[name].combine_chunks()
        if str(column.type) == "null":
            return CodedColumn(np.full(len(column), NOTHING, np.int32), [])
        encoding = column.dictionary_encode()
        codes = np.frombuffer(encoding.indices.fill_null(NOTHING).buffers()[1], np.int32, len(column))
        return CodedColumn(codes, encoding.dictionary.to_pylist())


def _encode(values: list[Any]) -> CodedColumn:
    if values[:1] in ([], [None]) and values.count(None) == len(values):
        return CodedColumn(np.full(len(values), NOTHING, np.int32), [])
    code = dict.fromkeys(values)
    code.pop(None, None)
    words = list(code)
    code = {word: number for number, word in enumerate(words)}
    code[None] = NOTHING
    return CodedColumn(np.fromiter(map(code.__getitem__, values), np.int32, len(values)), words)


def _mark(value: Any) -> bytes:
    if isinstance(value, int):
        return b"\x01" + struct.pack("<q", value)
    text = str(value).encode()
    return b"\x02" + struct.pack("<I", len(text)) + text


def _texts(texts: list[bytes], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    offsets = np.zeros(len(texts) + 1, np.int64 if kind == pa.large_binary() else np.int32)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return pa.Array.from_buffers(kind, len(texts), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))])


def _codes(codes: np.ndarray) -> list[pa.Buffer | None]:
    import pyarrow as pa

    some = codes >= 0
    return [None if some.all() else pa.py_buffer(np.packbits(some, bitorder="little")), pa.py_buffer(codes)]


def _spell(texts: list[bytes], codes: np.ndarray) -> pa.Buffer | bytes:
    """Return the text of each row's code, one behind the other."""
    if len(codes) < FEW:
        return b"".join(map(texts.__getitem__, codes.tolist()))
    import pyarrow as pa

    codes = np.ascontiguousarray(codes, np.int32)
    rows = pa.Array.from_buffers(pa.int32(), len(codes), [None, pa.py_buffer(codes)])
    return _texts(texts, pa.large_binary()).take(rows).buffers()[2]
