"""The player, built with AddressSanitizer and UBSan, against traces that are torn, flipped and hostile.

Behind it stands a driver that draws nothing and touches the memory that GL would touch (`fake_driver.py`): what the
player hands over is found out, whatever it is. `fuzz_player.cc` plays every trace in several ways; any report ends it.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import fake_driver
import sanitized
import writer
from drawtap import parts
from shared import once, steps
from writer import Data, Writer, i32

ROOT = Path(__file__).resolve().parents[2]
KEPT = sorted((ROOT / "tests/data").glob("*.dtap"))
ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:max_allocation_size_mb=3000",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
PLAYER = (
    *(
        "arguments",
        "attachments",
        "beside",
        "buffers",
        "checks",
        "depth_copy",
        "image",
        "layout",
        "measuring_none",
        "mirror",
        "names",
        "objects",
        "play",
        "points",
        "query",
        "shadow",
        "special",
    ),
    *("shared_images", "surfaces", "texel_copy", "windows", "windows_vg", "x11"),
)


@pytest.fixture(scope="session")
def fuzz_player(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = sanitized.compiler()
    return once(tmp_path_factory, "fuzz_player", lambda folder: build(folder, compiler, sanitized.FLAGS))


def build(folder: Path, compiler: str, flags: Sequence[str]) -> Path:
    """Build the program in `folder`; more flags make it the target of libFuzzer."""
    generated = folder / "play"
    command = [sys.executable, "-m", "drawtap.instrument.generate_player", "--output", str(generated)]
    source_path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": source_path})
    program = ROOT / "tests/native/fuzz_player.cc"
    (folder / "fake_driver.inc").write_text(fake_driver.generate(program.read_text(encoding="utf-8")), encoding="utf-8")
    native = ROOT / "native"
    rooms = [folder, generated, *(native / room for room in ("player", "mirror", "common", "third_party"))]

    sources = [
        *sorted(generated.glob("*.cc"), key=lambda path: -path.stat().st_size),
        program,
        *(native / f"player/{name}.cc" for name in PLAYER),
        *sanitized.SHARED,
        native / "state/feed.cc",
        *sorted((native / "mirror").glob("*.cc")),
    ]
    # The player asks for EGL's functions by name: those of the program itself. Types that measure are not in it, so no
    # pointer to them can be checked by its type.
    return sanitized.build(
        folder / "fuzz_player", sources, libraries=("zstd", "pthread", "dl"), flags=flags,
        own=("-DDT_PLAYER", "-Wno-error", "-fno-sanitize=vptr"), includes=rooms, link=("-rdynamic",), with_=compiler,
    )  # fmt: skip


def run(program: Path, mode: str, path: Path, step: int = 1, seed: int = 0) -> dict[str, int]:
    ran = subprocess.run(
        [str(program), mode, str(path), str(step), str(seed)],
        capture_output=True,
        text=True,
        timeout=900,
        env=os.environ | ENVIRONMENT,
    )
    assert ran.returncode == 0, f"{mode} {path.name} {step} {seed}: {ran.returncode}\n{ran.stderr[-6000:]}"
    return {name: int(value) for name, value in re.findall(r"(\w+) (\d+)", ran.stdout)}


# ---- hostile traces ------------------------------------------------------------------------------------------------

NUMBERS = (
    *(0, 0, 1, 1, 2, 3, 4, 4, 6, 8, 16, 64, 100, 255, 256, 4096, 65535, 65536, 1 << 20, 1 << 28, -1, -4),
    *(0x7FFFFFFF, -0x80000000, 0x0DE1, 0x806F, 0x8513, 0x8D40, 0x8D41, 0x8892, 0x8893, 0x88EB, 0x88EC, 0x8A11, 0x8F3F),
    *(0x1400, 0x1401, 0x1402, 0x1403, 0x1405, 0x1406, 0x1902, 0x1907, 0x1908, 0x8227, 0x80E1, 0x8058, 0x8363, 0x84C0),
    *(0x0CF2, 0x0CF3, 0x0CF4, 0x0CF5, 0x0D02, 0x0D05, 0x8074, 0x8078, 0x8864, 0x8866, 0x8B30, 0x8B31, 0x0BA6, 0x86A3),
)
ADDRESSES = (0, 0, 4, 16, 4096, 65536, 0x10000000, 0x7FFF12345000, 0x7FFF12345678, (1 << 47) - 64, (1 << 64) - 16)
# Bindings, arrays and sizes decide what memory a call means: these come often.
OFTEN = (
    *("glBindBuffer", "glBufferData", "glBufferSubData", "glDeleteBuffers", "glBindVertexArray", "glBindVertexBuffer"),
    *("glVertexAttribPointer", "glVertexAttribDivisor", "glEnableVertexAttribArray", "glDisableVertexAttribArray"),
    *("glVertexAttribFormat", "glVertexAttribBinding", "glVertexBindingDivisor", "glBindVertexBuffers"),
    *("glDrawArrays", "glDrawElements", "glDrawArraysInstanced", "glDrawElementsBaseVertex", "glMultiDrawArrays"),
    *("glMultiDrawElements", "glDrawElementsInstanced", "glPixelStorei", "glTexImage2D", "glTexSubImage3D"),
    *("glReadPixels", "glMapBufferRange", "glMapBuffer", "glUnmapBuffer", "glGetIntegerv", "glGenTextures"),
    *("glPushClientAttrib", "glPopClientAttrib", "glDrawArraysIndirect", "glInterleavedArrays", "dtapMemory"),
    *("dtapMapWrite", "glShaderSource", "glCallLists", "glGenLists", "glDeleteLists", "glVertexPointer"),
)
VERSIONS = ((0x30A2, None), (0x30A0, 1), (0x30A0, 2), (0x30A0, 3))


def signatures() -> str:
    """Return those of all functions that a tap records."""
    return parts.part(parts.SIGNATURES).read_text(encoding="utf-8")


def smaller(names: frozenset[str]) -> str:
    """Return only those of `names`, without what belongs to no function."""
    kept, keep = [], False
    for line in signatures().splitlines():
        if line.startswith("F"):
            keep = line.split("\t")[3] in names
        elif line[:1] not in "RPD":
            keep = False
        if keep:
            kept.append(line)
    return "\n".join(kept) + "\n"


def started(made: Writer, api: int, version: int | None) -> writer.Thread:
    thread = made.thread()
    attributes = i32(0x3098, version, 0x3038) if version else writer.NULL
    thread.call("eglBindAPI", result=1, api=api)
    thread.call("eglCreateContext", result=0x1000, dpy=1, config=0, share_context=0, attrib_list=attributes)
    thread.call("eglMakeCurrent", result=1, dpy=1, draw=0, read=0, ctx=0x1000)
    return thread


def hostile(text: str, seed: int, calls: int, names: list[str] | None = None) -> Writer:
    """Return a trace of calls with values, sizes, names and contents that nobody would give."""
    rng = random.Random(seed)
    made = Writer(text)
    thread = started(made, *VERSIONS[seed % len(VERSIONS)])
    ends = re.compile(r"^dtap|MakeC|DestroyContext|ReleaseThread")  # after them there would be no context
    every = names or sorted(n for n in made.functions if not ends.search(n))
    often = [n for n in OFTEN if n in made.functions]
    contents = [bytes(16), bytes(range(64)), rng.randbytes(300), bytes(5000), b"\xff" * 64]
    for number in range(calls):
        function = made.functions[every[number % len(every)] if rng.random() < 0.5 else rng.choice(often)]
        values: dict[str, object] = {}
        for field in function.fields:
            if field.data >= 0:
                content = rng.choice(contents)[: rng.choice([0, 1, 4, 8, 16, 64, 5000])]
                kind = rng.choice([0, 1, 1, 1, 1, 1, 2, 3, 3, 4, 5, 6])
                content = rng.choice(contents) if kind == 2 else content
                values[field.name] = Data(content, kind=kind, pointer=rng.choice(ADDRESSES))
            elif field.kind in ("ptr", "handle", "i64", "u64"):
                values[field.name] = rng.choice(ADDRESSES if rng.random() < 0.6 else NUMBERS)
            else:
                values[field.name] = rng.choice(NUMBERS)
        if function.name.startswith("dtap"):
            thread.tap(function.name, **values)
        else:
            thread.call(function.name, **values)
        if number % 200 == 199:
            thread.flush()
    made.add_blobs(contents)
    return made


def test_whole_traces(fuzz_player: Path) -> None:
    assert KEPT
    counts = [run(fuzz_player, "play", path) for path in KEPT]
    assert max(c["calls"] for c in counts) > 500
    assert max(c["touched"] for c in counts) > 100_000


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_kept_traces_cut_and_flipped(fuzz_player: Path, path: Path) -> None:
    size = path.stat().st_size
    for mode, runs in (("truncate", steps(20, 60)), ("reseal", steps(20, 60)), ("sizes", steps(9, 25))):
        assert run(fuzz_player, mode, path, max(1, size // runs), seed=7)["opened"] > 0


@pytest.mark.parametrize("codec", [writer.STORE, writer.ZSTD])
def test_small_trace_damaged_in_many_places(fuzz_player: Path, tmp_path: Path, codec: int) -> None:
    names = frozenset({"eglBindAPI", "eglCreateContext", "eglMakeCurrent", "glGenBuffers"})
    made = Writer(smaller(names | {n for n in OFTEN if re.search("Draw|Buffer|Attrib|dtap", n)}), codec=codec)
    thread = started(made, 0x30A2, None)
    thread.call("glGenBuffers", n=2, buffers=i32(1, 2))
    thread.call("glBindBuffer", target=0x8892, buffer=1)
    thread.call("glBufferData", target=0x8892, size=64, data=Data(bytes(64)), usage=0x88E4)
    thread.call("glMapBufferRange", target=0x8892, offset=0, length=64, access=2, result=0x5000)
    thread.tap("dtapMapWrite", offset=8, data=Data(bytes(16)), target=0x8892, buffer=1)
    thread.call("glUnmapBuffer", target=0x8892, result=1)
    thread.call("glBindBuffer", target=0x8892, buffer=0)
    thread.call("glVertexAttribPointer", index=0, size=2, type=0x1406, normalized=0, stride=0, pointer=0x7FFF12345000)
    thread.call("glEnableVertexAttribArray", index=0)
    thread.tap("dtapMemory", address=Data(bytes(24), pointer=0x7FFF12345000))
    thread.call("glDrawArrays", mode=4, first=0, count=3)
    thread.call("glDrawElements", mode=4, count=3, type=0x1403, indices=Data(bytes(6)))
    path = made.write(tmp_path / "t.dtap")
    size = path.stat().st_size
    assert run(fuzz_player, "play", path)["calls"] == 6 * 13  # one of the ways plays twice
    for mode, runs in (("truncate", steps(60, 150)), ("reseal", steps(60, 150)), ("sizes", steps(25, 60))):
        assert run(fuzz_player, mode, path, max(1, size // runs), seed=3)["opened"] > 0


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_hostile_arguments_of_every_function(fuzz_player: Path, tmp_path: Path, seed: int) -> None:
    calls = steps(5000, 8000)
    counts = run(fuzz_player, "play", hostile(signatures(), seed, calls).write(tmp_path / "t.dtap"))
    assert counts["calls"] > 5 * (calls - 1000)


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(100, 108))
def test_hostile_memory(fuzz_player: Path, tmp_path: Path, seed: int) -> None:
    names = frozenset({*OFTEN, "eglBindAPI", "eglCreateContext", "eglMakeCurrent"})
    made = hostile(smaller(names), seed, 4000, [n for n in OFTEN if not n.startswith("dtap")])
    counts = run(fuzz_player, "play", made.write(tmp_path / "t.dtap"))
    assert counts["calls"] > 5 * 3000


if __name__ == "__main__":
    made_here = Path(sys.argv[1])
    made_here.mkdir(parents=True, exist_ok=True)
    fuzzer = [flag.replace("address,", "fuzzer,address,") for flag in sanitized.FLAGS]
    print(build(made_here, os.environ.get("CXX", "clang++"), [*fuzzer, "-fno-sanitize=function", "-DFUZZER"]))
