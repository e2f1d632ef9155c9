"""Tables as data: what one row is, and each column with its type, its unit and its meaning.

One file a kind of file: `recording`, `kernel` and `corpus` (many recordings). The reader's columns and row writers in
C++ (`drawtap.instrument.generate_tables`), typed rows, reference pages, near misses and completion come from it.
Nothing here reads or asks.

A table of a recording is a `TypedDict` that mypy holds its readers to. SQL alone reads kernel traces and corpora:
their tables are plain tuples.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, get_args, get_type_hints

if TYPE_CHECKING:
    from typing import TypedDict as TypedDict
else:

    class TypedDict(dict):
        """The base of the rows: typing's own evaluates 500 columns at once, which takes 8 ms of every start."""


Row = TypeVar("Row")

# The Python type of a cell, and the type of its column in DuckDB.
TEXT = Annotated[str, "VARCHAR"]
BLOB = Annotated[str, "BLOB"]  # hexadecimal digits, as JSON has no bytes
BOOL = Annotated[bool, "BOOLEAN"]
U16 = Annotated[int, "USMALLINT"]
U32 = Annotated[int, "UINTEGER"]
U64 = Annotated[int, "UBIGINT"]
I32 = Annotated[int, "INTEGER"]
I64 = Annotated[int, "BIGINT"]
F32 = Annotated[float, "FLOAT"]
F64 = Annotated[float, "DOUBLE"]
U64S = Annotated[list[int], "UBIGINT[]"]
TEXTS = Annotated[list[str], "VARCHAR[]"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its DuckDB type, what it holds, and the unit of a quantity."""

    name: str
    type: str
    doc: str
    unit: str = ""
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table: what one row is, where its rows come from, and its columns in their order.

    `source` of a recording's: `calls`; `reader`; `state` (the state machine); `graph` (of calls that need each other);
    `computed` (by another room). In a kernel trace: `model`, or `timeline` where it is made when asked for.
    """

    name: str
    doc: str
    source: str
    columns: tuple[Column, ...]


def table(name: str, source: str, doc: str, *columns: tuple[object, ...]) -> Table:
    """Return a table whose columns are written as tuples: name, type, meaning, and unit where there is one."""
    return Table(name, doc, source, tuple(_column(str(first), Annotated[*rest]) for first, *rest in columns))


def by_name(tables: Iterable[Table]) -> Mapping[str, Table]:
    """Return tables by their names."""
    return {one.name: one for one in tables}


class Declared:
    """Collects tables that are declared as typed rows: `@declared(name, source)` before the class."""

    def __init__(self) -> None:
        self.rows: dict[type, str] = {}
        self.sides: dict[str, tuple[str, str]] = {}  # by table that one side alone fills: the side, what the other has
        self._sources: dict[str, tuple[str, str, type]] = {}  # by table: source, meaning, class of its rows

    def __call__(
        self, name: str, source: str, doc: str = "", *, of: Literal["OpenGL", "Vulkan"] | None = None, instead: str = ""
    ) -> Callable[[type[Row]], type[Row]]:
        """Declare a table. Its meaning is the sentence `doc`, or the class's first.

        `of` is the side whose calls alone give rows: OpenGL with OpenVG, or Vulkan. `instead` names the tables that
        have the like of the other.
        """
        if of:
            self.sides[name] = of, instead

        def declared(row: type[Row]) -> type[Row]:
            self._sources[name] = source, doc or row.__doc__ or "", row
            self.rows[row] = name
            return row

        return declared

    def named(self, *sources: str) -> tuple[str, ...]:
        """Return the names of the tables that come from any of `sources`, in the order of these."""
        return tuple(name for source in sources for name, (own, *_) in self._sources.items() if own == source)

    def columns(self, name: str) -> tuple[Column, ...]:
        """Return the columns of a table. Raises KeyError for a name that is none."""
        return self.by_name[name].columns if "by_name" in vars(self) else _table(name, *self._sources[name]).columns

    @functools.cached_property
    def by_name(self) -> Mapping[str, Table]:
        """The tables by name, made when first asked for: most questions need their names alone."""
        return {name: _table(name, *declared) for name, declared in self._sources.items()}


def _table(name: str, source: str, doc: str, row: type) -> Table:
    sentence = " ".join(doc.split())
    columns = tuple(_column(*one) for one in get_type_hints(row, include_extras=True).items())
    return Table(name, sentence[:1].lower() + sentence[1:].removesuffix("."), source, columns)


def _column(name: str, annotation: object) -> Column:
    of, *words = get_args(annotation)
    nullable = type(None) in get_args(of)
    type_, doc, unit = (*(get_args(get_args(of)[0])[1:] if nullable else ()), *words, "")[:3]
    return Column(name, type_, doc, unit, nullable)
