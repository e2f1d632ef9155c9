"""Recording, pictures and the notebook, from Python."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drawtap
from drawtap.errors import ChildError, UnavailableError, UsageError

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl
NOTEBOOK = Path(__file__).parents[2] / "examples" / "first_questions.ipynb"


@pytest.fixture(scope="module")
def game(programs: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording that Python made."""
    folder = tmp_path_factory.mktemp("python")
    environment = {name: value for name, value in programs.environment().items() if os.environ.get(name) != value}
    with drawtap.record(
        programs.arguments(["es2_triangle", "4"]), folder / "game.dtap", environment=environment
    ) as made:
        assert len(made.frames) == 4
    return folder / "game.dtap"


def test_recording_says_what_is_wrong(game: Path) -> None:
    with pytest.raises(UsageError, match="exists"):
        drawtap.record(["true"], game)
    with pytest.raises(ChildError, match="no program"):
        drawtap.record(["./no-such-game"], game.with_name("x.dtap"))
    with pytest.raises(UnavailableError, match="true made no graphics calls"):
        drawtap.record(["true"], game.with_name("y.dtap"))


def test_a_frame_has_a_picture(game: Path, tmp_path: Path) -> None:
    with drawtap.open(game) as trace:
        picture = trace.frames[1].image()
        assert picture.save(tmp_path / "frame.png").read_bytes().startswith(b"\x89PNG")
        assert picture._repr_png_() == picture.png
        assert picture.png != trace.frames[2].image().png  # it turns
        assert "base64," in picture._repr_html_()
        with pytest.raises(UsageError, match="there is no call 99999"):
            drawtap.image(trace, 99999)


def test_the_notebook_runs(game: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run its cells as a notebook does: the value of a last expression is what is shown."""
    monkeypatch.chdir(game.parent)
    names: dict[str, object] = {}
    shown = []
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    for cell in (c for c in cells if c["cell_type"] == "code"):
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(NOTEBOOK), "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)
            shown.append(value._repr_html_() if hasattr(value, "_repr_html_") else value)
    html = [text for text in shown if isinstance(text, str)]
    assert any("glDrawArrays" in text for text in html)
    assert any('<img alt="framebuffer' in text for text in html)
    assert ["glDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)"] in shown
    assert all(not cell.get("outputs") for cell in cells), "outputs are not committed"
