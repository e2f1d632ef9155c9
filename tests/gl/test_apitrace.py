"""Traces of apitrace both ways: its own dump of what drawtap reads, its own replay of what drawtap writes."""

from __future__ import annotations

import json
import math
import re
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from drawtap.spec.registry import load_api
from shared import run_drawtap

if TYPE_CHECKING:
    from conftest import Bench

pytestmark = pytest.mark.gl

TIMEOUT_S = 300
# apitrace's own tracer does not survive the programs that put their arrays at the end of a page.
TRACED = ("es2_triangle", "es1_cube", "readback", "maps", "shared_contexts", "debug_markers")
ALL = (*TRACED, "client_arrays_es2", "client_arrays_gl1", "pixels")
CALL = re.compile(r"^(\d+) (\w+)\(", re.MULTILINE)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|blob\((\d+)[^)]*\)|-?0x[0-9a-fA-F]+|-?\d[\w.+-]*|-?inf|-?nan|\w+|\|')


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    for tool in ("apitrace", "eglretrace"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")


def _run(command: list[str], **named: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, **named)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done  # type: ignore[no-any-return]


def _drawtap(*arguments: object) -> str:
    done = run_drawtap(*map(str, arguments))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def _traced(programs: Bench, name: str, folder: Path) -> Path:
    trace = folder / f"{name}.trace"
    command = ["apitrace", "trace", "--api=egl", "-o", str(trace), *programs.arguments([name])]
    _run(command, env=programs.environment())
    return trace


def _recorded(programs: Bench, name: str, folder: Path) -> Path:
    return programs.record([name], folder / f"{name}.dtap")


def _dump(trace: Path) -> list[tuple[str, str, bool]]:
    """Return name, arguments with result, and whether apitrace added it, of every call."""
    text = _run(["apitrace", "dump", "--verbose", "--color=never", str(trace)]).stdout
    starts = [*CALL.finditer(text)]
    ends = [*(m.start() for m in starts[1:]), len(text)]
    calls = []
    for match, end in zip(starts, ends, strict=True):
        body = text[match.end() : end].rstrip()
        fake = body.endswith("// fake")
        calls.append((int(match[1]), match[2], body.removesuffix("// fake").rstrip(), fake))
    return [call[1:] for call in sorted(calls)]  # apitrace shows them as they ended


def _list(trace: Path) -> list[tuple[str, str]]:
    calls = []
    for line in _drawtap("list", trace, "--no-times").splitlines():
        match = CALL.match(line)
        assert match, line
        calls.append((match[2], line[match.end() :]))
    return calls


def _enums() -> dict[str, int]:
    return {**load_api("gl").enums, **load_api("egl").enums}


def _values(text: str, enums: dict[str, int]) -> list[object]:
    """Return what a call's text says, whatever the style: numbers, the starts of strings, the sizes of contents."""
    found: list[object] = []
    joined = False
    # `name = ` before an argument or member says nothing that the position does not.
    text = re.sub(r"\b[A-Za-z]\w* = (?=[^,})]*)", lambda m: "" if m[0][:-3] not in enums else m[0], text)
    for match in TOKEN.finditer(text):
        word = match[0]
        if word == "|":
            joined = True
            continue
        value: object
        if word.startswith('"'):
            value = word[1:-1].encode().decode("unicode_escape", "replace").partition("\u2026")[0][:40]
            value = str(value).partition("\xe2\x80\xa6")[0]
        elif match[1] is not None:
            value = f"content of {match[1]}"
        elif word in ("NULL", "GL_NONE"):
            value = 0
        elif word in enums:
            value = enums[word]
        else:
            try:
                value = int(word, 0)
            except ValueError:
                try:
                    value = float(word)
                except ValueError:
                    value = word
        if joined and isinstance(value, int) and found and isinstance(found[-1], int):
            found[-1] |= value
        else:
            found.append(value)
        joined = False
    return found


def _same(a: object, b: object) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        both_int = isinstance(a, int) and isinstance(b, int)
        return (a - b) % (1 << 32) == 0 if both_int else math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6)
    if isinstance(a, str) and isinstance(b, str):
        return a.startswith(b) or b.startswith(a)
    return a == b


@pytest.mark.parametrize("name", TRACED)
def test_imported_calls_are_what_apitrace_dumps(programs, tmp_path, name):
    theirs = _traced(programs, name, tmp_path)
    ours = tmp_path / "ours.dtap"
    answer = json.loads(_drawtap("import", theirs, "-o", ours, "--json"))
    assert answer["damage"] is None
    assert answer["version"] in (5, 6)
    dumped = _dump(theirs)
    assert answer["fake"] == sum(fake for _, _, fake in dumped)
    calls = _list(ours)
    real = [(function, text) for function, text, fake in dumped if not fake]
    if name == "es1_cube":
        # The pointers of client arrays stand in apitrace's own calls: the first of each counts, the rest is memory.
        calls = [c for c in calls if not c[0].endswith("Pointer")]
        memory = json.loads(_drawtap("sql", ours, "SELECT address_bytes FROM memory", "--json"))
        sizes = [
            int(re.search(r"blob\((\d+)\)", text)[1])
            for function, text, fake in dumped
            if fake and "Pointer" in function
        ]  # type: ignore[index]
        assert [row["address_bytes"] for row in memory] == sizes
    assert [c[0] for c in calls] == [c[0] for c in real]
    enums = _enums()
    for (function, mine), (_, their) in zip(calls, real, strict=True):
        if function in ("glGetString", "eglQueryString"):
            continue  # as long as they are, these words are no numbers
        a, b = _values(mine, enums), _values(their, enums)
        # Attribute lists: apitrace shows the terminator.
        b = [v for v in b if v not in ("EGL_NONE", 0x3038)]
        a = [v for v in a if v not in ("EGL_NONE", 0x3038)]
        assert len(a) == len(b), f"{function}\n{mine}\n{their}"
        assert all(map(_same, a, b)), f"{function}\n{mine}\n{their}\n{a}\n{b}"


@pytest.mark.parametrize("packing", ["--zlib", "--brotli=1"])
def test_every_packing_is_the_same_trace(programs, tmp_path, packing):
    snappy = _traced(programs, "es2_triangle", tmp_path)
    packed = tmp_path / "packed.trace"
    _run(["apitrace", "repack", packing, str(snappy), str(packed)])
    answers = [json.loads(_drawtap("import", t, "-o", t.with_suffix(".dtap"), "--json")) for t in (snappy, packed)]
    assert answers[1]["container"] == packing.strip("-").partition("=")[0]
    assert _list(snappy.with_suffix(".dtap")) == _list(packed.with_suffix(".dtap"))


def test_what_apitrace_saw_the_application_store_is_a_map_write(programs, tmp_path):
    theirs = _traced(programs, "maps", tmp_path)
    ours = tmp_path / "ours.dtap"
    _drawtap("import", theirs, "-o", ours)
    sizes = [int(re.search(r"blob\((\d+)\)", text)[1]) for name, text, _ in _dump(theirs) if name == "memcpy"]  # type: ignore[index]
    rows = json.loads(_drawtap("sql", ours, "SELECT buffer, data_bytes FROM map_writes", "--json"))
    assert len(sizes) > 10
    assert [row["data_bytes"] for row in rows] == sizes
    assert all(row["buffer"] for row in rows)


def _without_fakes(trace: Path) -> list[tuple[str, str]]:
    return [(name, text) for name, text, fake in _dump(trace) if not fake]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ALL)
def test_export_and_import_give_the_same_calls(programs, tmp_path, name):
    first = _recorded(programs, name, tmp_path)
    theirs, second = tmp_path / "theirs.trace", tmp_path / "second.dtap"
    _drawtap("export", first, "-o", theirs)
    assert len(_without_fakes(theirs)) == len(_list(first))
    answer = json.loads(_drawtap("import", theirs, "-o", second, "--json"))
    assert (answer["notes"], answer["damage"], answer["unknown_functions"]) == ([], None, int(name == "maps"))
    columns = "seq, thread, name, params::VARCHAR AS params, result::VARCHAR AS result"
    for query in (f"SELECT {columns} FROM calls ORDER BY seq", 'SELECT "offset", buffer, data_blob FROM map_writes'):
        one, two = (json.loads(_drawtap("sql", t, query, "--json")) for t in (first, second))
        assert len(one) == len(two)
        for a, b in zip(one, two, strict=True):
            if str(a.get("name")).startswith("glMultiDrawElements"):
                # Addresses of indices in the program's memory: apitrace has what stands there instead.
                assert (a.pop("params") == b.pop("params")) == (name != "client_arrays_gl1")
            assert a == b


def _frames(trace: Path, folder: Path, programs: Bench, display: str) -> list[bytes]:
    """Replay with apitrace and return the pixels (RGB, top to bottom) of every frame."""
    folder.mkdir()
    environment = {**programs.environment(), "DISPLAY": display}
    environment.pop("EGL_PLATFORM", None)
    _run(["eglretrace", "--headless", "-s", f"{folder}/", str(trace)], env=environment)
    return [_png(path) for path in sorted(folder.glob("*.png"))]


@pytest.mark.parametrize("name", ["es2_triangle", "es1_cube"])
def test_apitrace_replays_an_export_pixel_for_pixel(programs, display, tmp_path, name):
    if display is None:
        pytest.skip("Xvfb is not installed")
    trace = _recorded(programs, name, tmp_path)
    theirs = tmp_path / "theirs.trace"
    _drawtap("export", trace, "-o", theirs)
    frames = _frames(theirs, tmp_path / "frames", programs, display)
    # What the program itself read back before it showed the frame.
    query = (
        "SELECT width, height, pixels_blob AS blob FROM glReadPixels WHERE seq IN "
        "(SELECT max(r.seq) FROM glReadPixels r JOIN calls c USING (seq) GROUP BY c.frame) ORDER BY seq"
    )
    shown = json.loads(_drawtap("sql", trace, query, "--json"))[: len(frames)]
    assert len(frames) == len(shown) > 3
    from drawtap.trace.trace import Trace

    # Not the first: on busy machines eglretrace draws it before the X server has given its window the size.
    with Trace(trace) as opened:
        for frame, row in list(zip(frames, shown, strict=True))[1:]:
            width, height = row["width"], row["height"]
            rgba = bytes(opened.blob(row["blob"]))
            rows = [rgba[y * width * 4 : (y + 1) * width * 4] for y in reversed(range(height))]
            rgb = b"".join(bytes(v for i, v in enumerate(line) if i % 4 != 3) for line in rows)
            assert frame == rgb


@pytest.mark.parametrize("name", ["es2_triangle", "es1_cube", "shared_contexts"])
def test_an_import_replays_pixel_for_pixel(programs, tmp_path, name):
    own = _recorded(programs, name, tmp_path)
    theirs = tmp_path / "theirs.dtap"
    _drawtap("import", _traced(programs, name, tmp_path), "-o", theirs)
    shown = []
    for trace in (own, theirs):
        folder = tmp_path / f"frames_{trace.stem}"
        command = [sys.executable, "-m", "drawtap", "replay", str(trace), "--snapshots", str(folder)]
        _run(command, env=programs.environment())
        shown.append([_png(path) for path in sorted(folder.glob("*.png"))])
    assert len(shown[0]) > 1
    assert shown[0] == shown[1]


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ALL)
def test_apitrace_replays_every_export_to_its_end(programs, display, tmp_path, name):
    if display is None:
        pytest.skip("Xvfb is not installed")
    trace, theirs = _recorded(programs, name, tmp_path), tmp_path / "theirs.trace"
    _drawtap("export", trace, "-o", theirs)
    environment = {**programs.environment(), "DISPLAY": display}
    environment.pop("EGL_PLATFORM", None)
    said = _run(["eglretrace", "--headless", str(theirs)], env=environment)
    assert "Rendered" in said.stdout + said.stderr


def _png(path: Path) -> bytes:
    data = path.read_bytes()
    at, packed, shape = 8, b"", (0, 0, 3)
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IHDR":
            width, height, _, color = struct.unpack(">IIBB", data[at + 8 : at + 18])
            shape = (width, height, {2: 3, 6: 4}[color])
        elif kind == b"IDAT":
            packed += data[at + 8 : at + 8 + size]
        at += 12 + size
    width, height, step = shape
    raw, before, rows = zlib.decompress(packed), bytes(width * step), []
    for y in range(height):
        start = y * (width * step + 1)
        before = _unfiltered(raw[start], bytearray(raw[start + 1 : start + 1 + width * step]), before, step)
        rows.append(before)
    return b"".join(rows) if step == 3 else b"".join(bytes(v for i, v in enumerate(r) if i % 4 != 3) for r in rows)


def _unfiltered(kind: int, line: bytearray, above: bytes, step: int) -> bytes:
    for i in range(len(line)):
        left, up = (line[i - step] if i >= step else 0), above[i]
        corner = above[i - step] if i >= step else 0
        distances = (abs(up - corner), abs(left - corner), abs(left + up - 2 * corner))
        paeth = (left, up, corner)[distances.index(min(distances))]
        line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
    return bytes(line)
