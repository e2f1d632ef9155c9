"""The tables of recordings: one declaration is a column of the reader, of the typed rows, of the pages and of hints."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import drawtap
from drawtap.errors import QueryError
from drawtap.instrument import generate_tables
from drawtap.tables import Declared, recording
from drawtap.trace.database import Database
from drawtap.trace.workspace import Workspace
from sanitized import compiler

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "tests/data/trace-v1-es2_triangle.dtap"
READER = ("functions", "params", "enums", "frames", "threads", "contexts", "markers", "problems", "chunks", "histogram")


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # types are looked up in it
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a copy of the declarations in which frames have one column more."""
    text = Path(recording.__file__).read_text(encoding="utf-8")
    last = '    end_function: Annotated[TEXT | None, "the function that ended it"]\n'
    assert text.count(last) == 1
    path = tmp_path_factory.mktemp("tables") / "changed.py"
    path.write_text(text.replace(last, last + '    wobble: Annotated[F64 | None, "how far it moved", "pixels"]\n'))
    return _module(path)


def test_a_declared_column_is_one_of_the_reader(changed: Any, tmp_path: Path) -> None:
    (tmp_path / "declared_tables.h").write_text(generate_tables.header(changed.declared.by_name))
    source = tmp_path / "frames.cc"
    source.write_text(
        '#include "core/rows.h"\n'
        "using Frames = dt::rows::Frames;\n"
        'static_assert(std::string_view(Frames::COLUMNS[size_t(Frames::At::wobble)].name) == "wobble");\n'
        "static_assert(Frames::COLUMNS[size_t(Frames::At::wobble)].type.type == dt::Type::f64);\n"
        "void add(dt::RowWriter<Frames>& out) { out.add({.frame = 1, .wobble = 0.5}); }\n"
    )
    subprocess.run(
        [compiler(), "-std=c++20", "-fsyntax-only", f"-I{tmp_path}", f"-I{ROOT / 'native'}", str(source)], check=True
    )


def test_a_declared_column_is_in_rows_page_hints_and_completion(changed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_type_hints(changed.FrameRow)["wobble"] == float | None
    monkeypatch.setattr(recording.declared, "by_name", changed.declared.by_name)
    page = "".join(_module(ROOT / "docs/reference.py")._tables())
    assert "| `wobble` | DOUBLE | pixels | how far it moved |\n" in page
    with drawtap.open(RECORDING) as trace:
        with pytest.raises(QueryError) as error:
            trace.sql("SELECT wobbel FROM frames").fetchall()
        assert error.value.hint == "did you mean wobble?"
    with Workspace() as workspace:
        workspace.load(RECORDING)
        from drawtap.prompt import Analyzer

        line = "SELECT max(wob"
        items = Analyzer(workspace, interactive=False).completedefault("max(wob", line, 7, len(line)).items
        assert [item.text for item in items] == ["max(wobble"]


@pytest.mark.parametrize("name", READER)
def test_rows_have_the_declared_columns_and_nulls(name: str) -> None:
    declared = recording.declared.by_name[name].columns
    with drawtap.open(RECORDING) as trace:
        rows = trace.table(name)
    assert all(list(row) == [column.name for column in declared] for row in rows)
    assert not {column.name for column in declared for row in rows if row[column.name] is None and not column.nullable}


def test_a_typed_row_names_its_table() -> None:
    with drawtap.open(RECORDING) as trace:
        assert trace.table(recording.ThreadRow) == trace.table("threads")


def test_a_sentence_becomes_what_a_row_is() -> None:
    declared = Declared()

    @declared("things", "reader")
    class ThingRow:
        """A thing: big
        or small."""

    assert declared.by_name["things"].doc == "a thing: big or small"
    assert declared.rows[ThingRow] == "things"


def test_a_database_says_what_a_kind_of_file_must() -> None:
    assert Database.__abstractmethods__ == {"_prepared", "_copied", "table_names", "listed", "known", "columns"}
    with pytest.raises(TypeError, match="abstract"):
        Database()  # type: ignore[abstract]
