"""Generate `declared_tables.h`: the tables of a recording (`drawtap.tables.recording`) as C++.

Each table that C++ writes gets its columns, and a struct with a cell for each column. `native/core/rows.h` explains the
writing of rows.
"""

from __future__ import annotations

from collections.abc import Mapping

from drawtap.instrument.generate import command_line, write_files
from drawtap.tables import Table, recording

# DuckDB's name of a type: the reader's, and what a cell holds.
_TYPES = {
    "VARCHAR": ("Type::text", "std::string_view"),
    "BLOB": ("Type::binary", "std::string_view"),
    "BOOLEAN": ("Type::boolean", "bool"),
    "USMALLINT": ("Type::u16", "uint16_t"),
    "UINTEGER": ("Type::u32", "uint32_t"),
    "UBIGINT": ("Type::u64", "uint64_t"),
    "INTEGER": ("Type::i32", "int32_t"),
    "BIGINT": ("Type::i64", "int64_t"),
    "FLOAT": ("Type::f32", "float"),
    "DOUBLE": ("Type::f64", "double"),
    "UBIGINT[]": ("Type::list, Type::u64", "std::vector<uint64_t>"),
    "VARCHAR[]": ("Type::list, Type::text", "std::vector<std::string>"),
}
_KEYWORDS = frozenset({"class", "default", "register"})


def header(tables: Mapping[str, Table] = recording.declared.by_name) -> str:
    """Return the header."""
    written = [table for table in tables.values() if table.source != "computed"]
    return "\n".join(
        [
            "// Generated from the tables that drawtap/tables/recording.py declares; rows.h includes it.",
            "#pragma once",
            "namespace dt::rows {",
            *(line for table in written for line in _row(table)),
            "}  // namespace dt::rows",
            "",
        ]
    )


def _row(table: Table) -> list[str]:
    names = [column.name + "_" * (column.name in _KEYWORDS) for column in table.columns]
    cells = ", ".join(names)
    return [
        f"// One row is {table.doc}.",
        f"struct {table.name.title().replace('_', '')} {{",
        f"  enum class At : uint8_t {{ {cells}, count_ }};",
        "  static constexpr DeclaredColumn COLUMNS[] = {",
        *(f'      {{"{column.name}", {{{_TYPES[column.type][0]}}}}},' for column in table.columns),
        "  };",
        *(f"  Cell<{_TYPES[c.type][1]}> {name}{{}};" for c, name in zip(table.columns, names, strict=True)),
        f"  template <class Visit> void each(Visit&& visit) const {{ (visit({'), visit('.join(names)})); }}",
        "};",
    ]


def headers() -> dict[str, str]:
    """Return the header's text by its file name."""
    return {"declared_tables.h": header()}


def main() -> None:
    """Write the header: `python -m drawtap.instrument.generate_tables --output DIR`."""
    write_files(command_line(main.__doc__).parse_args().output, headers())


if __name__ == "__main__":
    main()
