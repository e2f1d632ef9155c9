"""The importer of apitrace traces, on files written by hand: every version, kind of value and kind of damage."""

from __future__ import annotations

import ctypes
import gzip
import json
import struct
import subprocess
import threading
from pathlib import Path

import pytest

import sanitized
from drawtap.errors import InputError
from drawtap.formats import Selection, peers
from drawtap.formats.apitrace import Imported, read_apitrace, write_apitrace
from drawtap.formats.c import export_c
from drawtap.parts import PEERS, SIGNATURES, part
from drawtap.trace.library import Cancelled
from drawtap.trace.trace import Trace
from shared import once, steps

ROOT = Path(__file__).resolve().parents[2]
DAMAGED = steps(100, 1000)


def number(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return number(len(raw)) + raw


NULL, FALSE, TRUE = b"\x00", b"\x01", b"\x02"


def sint(value: int) -> bytes:
    return b"\x03" + number(-value) if value < 0 else b"\x04" + number(value)


def f32(value: float) -> bytes:
    return b"\x05" + struct.pack("<f", value)


def f64(value: float) -> bytes:
    return b"\x06" + struct.pack("<d", value)


def string(value: str) -> bytes:
    return b"\x07" + text(value)


def blob(value: bytes) -> bytes:
    return b"\x08" + text(value)


def array(*values: bytes) -> bytes:
    return b"\x0b" + number(len(values)) + b"".join(values)


def opaque(value: int) -> bytes:
    return b"\x0d" + number(value)


class Peer:
    """Writes the events of an apitrace trace of any version."""

    def __init__(self, version: int = 5) -> None:
        self.version = version
        self.out = bytearray(number(version))
        if version >= 6:
            self.out += number(version) + text("process.name") + text("/usr/bin/gears") + text("")
        self.functions: dict[str, int] = {}
        self.enums: dict[str, int] = {}
        self.calls = 0

    def enter(self, name: str, thread: int = 0, /, *, fake: bool = False, **arguments: bytes) -> int:
        self.out += b"\x00" + (number(thread) if self.version >= 4 else b"")
        known = name in self.functions
        self.out += number(self.functions.setdefault(name, len(self.functions)))
        if not known:
            self.out += text(name) + number(len(arguments)) + b"".join(map(text, arguments))
        if self.version < 4:
            self.out += b"\x03" + number(thread)
        if fake:
            self.out += b"\x05\x01"
        for index, value in enumerate(arguments.values()):
            self.out += b"\x01" + number(index) + value
        self.out += b"\x00"
        self.calls += 1
        return self.calls - 1

    def leave(self, call: int, *, result: bytes | None = None, **outputs: bytes) -> None:
        self.out += b"\x01" + number(call)
        for index, value in outputs.items():
            self.out += b"\x01" + number(int(index.strip("_"))) + value
        if result is not None:
            self.out += b"\x02" + result
        self.out += b"\x00"

    def call(
        self, name: str, /, *, result: bytes | None = None, thread: int = 0, fake: bool = False, **arguments: bytes
    ) -> None:
        self.leave(self.enter(name, thread, fake=fake, **arguments), result=result)

    def enum(self, name: str, value: int) -> bytes:
        known = name in self.enums
        out = b"\x09" + number(self.enums.setdefault(name, len(self.enums)))
        if not known:
            out += (number(1) if self.version >= 3 else b"") + text(name) + sint(value)
        return out + (sint(value) if self.version >= 3 else b"")

    def write(self, path: Path, *, packing: str = "snappy") -> Path:
        if packing == "gzip":
            path.write_bytes(gzip.compress(bytes(self.out)))
            return path
        path.write_bytes(b"at" + chunk(bytes(self.out)))
        return path


def chunk(raw: bytes) -> bytes:
    """A snappy chunk of literals."""
    packed = number(len(raw))
    for at in range(0, len(raw), 60):
        piece = raw[at : at + 60]
        packed += bytes([(len(piece) - 1) << 2]) + piece
    return struct.pack("<I", len(packed)) + packed


def imported(source: Path) -> tuple[Imported, Path]:
    target = source.with_suffix(".dtap")
    return read_apitrace(source, target, library=part(PEERS), signatures=part(SIGNATURES)), target


def rows(trace: Path, query: str) -> list[tuple[object, ...]]:
    with Trace(trace) as opened:
        return [tuple(row) for row in opened.sql(query).fetchall()]


def frame(version: int) -> Peer:
    p = Peer(version)
    p.call("glEnable", cap=p.enum("GL_DEPTH_TEST", 2929))
    p.call("glUniform4fv", location=sint(3), count=sint(1), value=array(f32(1), f32(2), f32(0.5), f32(-4)))
    p.call(
        "glBufferData",
        target=p.enum("GL_ARRAY_BUFFER", 34962),
        size=sint(5),
        data=blob(b"bytes"),
        usage=p.enum("GL_STATIC_DRAW", 35044),
    )
    shader = array(string("void main()\n"), string("{}"))
    p.call("glShaderSource", shader=sint(1), count=sint(2), string=shader, length=NULL)
    p.leave(p.enter("glGenTextures", n=sint(2), textures=NULL), _1=array(sint(7), sint(8)))
    p.call("glGetUniformLocation", result=sint(-1), program=sint(2), name=string("wave"))
    p.call("eglSwapBuffers", result=p.enum("EGL_TRUE", 1), dpy=opaque(0x5000), surface=opaque(0x6000))
    return p


@pytest.mark.parametrize("version", range(7))
def test_every_version(tmp_path, version):
    made, trace = imported(frame(version).write(tmp_path / "a.trace"))
    assert (made.calls, made.version, made.damage, made.notes) == (7, version, None, ())
    assert made.properties == ({"process.name": "/usr/bin/gears"} if version >= 6 else {})
    found = rows(trace, "SELECT seq, frame, call FROM calls ORDER BY seq")
    assert [row[0] for row in found] == list(range(7))
    said = [str(row[2]) for row in found]
    assert said[0] == "glEnable(cap = GL_DEPTH_TEST)"
    assert said[1] == "glUniform4fv(location = 3, count = 1, value = {1, 2, 0.5, -4})"
    assert said[2].startswith("glBufferData(target = GL_ARRAY_BUFFER, size = 5, data = blob(5 bytes")
    assert said[3] == 'glShaderSource(shader = 1, count = 2, string = {"void main()\\n", "{}"}, length = NULL)'
    assert said[4] == "glGenTextures(n = 2, textures = {7, 8})"
    assert said[5] == 'glGetUniformLocation(program = 2, name = "wave") = -1'
    assert said[6] == "eglSwapBuffers(dpy = 0x5000, surface = 0x6000) = EGL_TRUE"


def test_gzip_is_as_good(tmp_path):
    one, first = imported(frame(2).write(tmp_path / "a.trace"))
    two, second = imported(frame(2).write(tmp_path / "b.trace", packing="gzip"))
    assert (one.container, two.container) == ("snappy", "zlib")
    assert rows(first, "SELECT call FROM calls") == rows(second, "SELECT call FROM calls")


def _zstd(raw: bytes) -> bytes:
    lib = ctypes.CDLL("libzstd.so.1")
    lib.ZSTD_compress.restype = ctypes.c_size_t
    lib.ZSTD_compress.argtypes = (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
    out = ctypes.create_string_buffer(len(raw) + 1000)
    size = lib.ZSTD_compress(out, len(out), raw, len(raw), 3)
    return out.raw[:size]


@pytest.mark.parametrize("seekable", [False, True])
def test_zstd_is_as_good_with_a_seek_table_too(tmp_path, seekable):
    p = frame(6)
    path = tmp_path / "a.trace"
    half = len(p.out) // 2
    table = struct.pack("<II", 0x184D2A5E, 9 + 16) + bytes(16) + struct.pack("<IBI", 2, 0, 0x8F92EAB1)
    path.write_bytes(_zstd(bytes(p.out[:half])) + _zstd(bytes(p.out[half:])) + (table if seekable else b""))
    made, _ = imported(path)
    assert (made.container, made.calls, made.damage) == ("zstd", 7, None)
    path.write_bytes(path.read_bytes()[: len(_zstd(bytes(p.out[:half]))) + 12])
    cut, _ = imported(path)
    assert cut.damage and cut.calls < 7


def test_there_are_no_times(tmp_path):
    _, trace = imported(frame(6).write(tmp_path / "a.trace"))
    with Trace(trace) as opened:
        assert opened.info["timing"] == "none"
    assert rows(trace, "SELECT count(*) FROM calls WHERE duration IS NOT NULL") == [(0,)]


def test_functions_nobody_knows_explain_themselves(tmp_path):
    p = Peer(6)
    mode = b"\x09\x00" + number(2) + text("SLOW") + sint(-1) + text("FAST") + sint(300) + sint(300)
    mask = b"\x0a\x00" + number(2) + text("BIT_A") + number(1) + text("BIT_B") + number(4) + number(5)
    point = b"\x0c\x00" + text("Point") + number(2) + text("x") + text("y") + f32(1) + string("two")
    p.call(
        "vendorDraw",
        result=TRUE,
        a=sint(-3),
        b=f32(1.5),
        c=f64(2.5),
        d=string("words"),
        e=mode,
        f=mask,
        g=blob(b"\0\1"),
        h=array(sint(1), sint(2)),
        i=point,
        j=opaque(0x1234),
        k=b"\x0e" + string("human") + sint(1),
    )
    p.call(
        "vendorDraw",
        result=FALSE,
        a=sint(4),
        b=f32(0),
        c=f64(0),
        d=NULL,
        e=b"\x09\x00" + sint(-1),
        f=b"\x0a\x00" + number(0),
        g=NULL,
        h=NULL,
        i=NULL,
        j=NULL,
        k=NULL,
    )
    made, trace = imported(p.write(tmp_path / "a.trace"))
    assert (made.calls, made.unknown_functions, made.notes) == (2, 1, ())
    found = rows(trace, "SELECT a, b, c, d, e, f_value, h, i, j, result FROM vendorDraw ORDER BY seq")
    assert found[0][:6] == (-3, 1.5, 2.5, "words", "FAST", 5)
    assert list(found[0][6]) == [1, 2]
    assert found[0][7] == '{x = 1, y = "two"}'
    assert found[0][9] is True
    assert (found[1][0], found[1][4], found[1][9]) == (4, "SLOW", False)


def test_calls_of_threads_stand_in_the_order_in_which_they_began(tmp_path):
    p = Peer(5)
    first = p.enter("glFinish", 0)
    p.call("glFlush", thread=1)
    second = p.enter("glGetError", 1)
    p.leave(first)
    p.leave(second, result=sint(0))
    p.enter("glFinish", 2)
    made, trace = imported(p.write(tmp_path / "a.trace"))
    assert (made.calls, made.threads, made.calls_in_flight) == (4, 3, 1)
    found = rows(trace, "SELECT thread, name FROM calls ORDER BY seq")
    assert found == [(0, "glFinish"), (1, "glFlush"), (1, "glGetError"), (2, "glFinish")]


def test_what_apitrace_adds_becomes_what_the_tap_notes(tmp_path):
    p = Peer(6)
    p.call("eglBindAPI", result=sint(1), api=p.enum("EGL_OPENGL_ES_API", 0x30A0))
    p.call(
        "eglCreateContext", result=opaque(0xC0), dpy=opaque(1), config=opaque(2), share_context=NULL, attrib_list=NULL
    )
    p.call("eglMakeCurrent", result=sint(1), dpy=opaque(1), draw=opaque(0xD0), read=opaque(0xD0), ctx=opaque(0xC0))
    p.call("glViewport", fake=True, x=sint(0), y=sint(0), width=sint(320), height=sint(200))
    p.call("glBindBuffer", target=sint(0x8892), buffer=sint(9))
    p.call(
        "glMapBufferRange",
        result=opaque(0x70000),
        target=sint(0x8892),
        offset=sint(64),
        length=sint(32),
        access=sint(2),
    )
    p.call("memcpy", fake=True, dest=opaque(0x70008), src=blob(b"stored"), n=sint(6))
    p.call("glUnmapBuffer", result=sint(1), target=sint(0x8892))
    p.call("memcpy", fake=True, dest=opaque(0x70008), src=blob(b"nowhere"), n=sint(7))
    for _ in range(2):
        p.call("glBindBuffer", fake=True, target=sint(0x8892), buffer=sint(0))
        p.call(
            "glVertexAttribPointer",
            fake=True,
            index=sint(0),
            size=sint(2),
            type=sint(0x1406),
            normalized=sint(0),
            stride=sint(8),
            pointer=blob(b"12345678"),
        )
        p.call("glBindBuffer", fake=True, target=sint(0x8892), buffer=sint(9))
        p.call("glDrawArrays", mode=sint(4), first=sint(0), count=sint(1))
    made, trace = imported(p.write(tmp_path / "a.trace"))
    assert made.notes == ("memcpy records that belong to no mapped buffer",)
    assert rows(trace, 'SELECT buffer, "offset", data_bytes FROM map_writes') == [(9, 72, 6)]
    names = [row[0] for row in rows(trace, "SELECT name FROM calls ORDER BY seq")]
    assert names[6:] == ["glBindBuffer", "glVertexAttribPointer", "glBindBuffer", "glDrawArrays", "glDrawArrays"]
    memory = rows(trace, "SELECT seq, address, address_bytes FROM memory")
    pointer = rows(trace, "SELECT pointer FROM glVertexAttribPointer")
    assert [(seq, size) for seq, _, size in memory] == [(9, 8), (10, 8)]
    assert {address for _, address, _ in memory} == {pointer[0][0]}
    assert rows(trace, "SELECT handle FROM natives WHERE kind = 'window'") == [(0xD0,)]
    assert [row[0] for row in rows(trace, "SELECT DISTINCT context FROM calls WHERE seq > 2")] == [1]


@pytest.mark.parametrize("damage", ["cut", "cut in a chunk", "flipped length", "wrong event", "large blob"])
def test_what_is_whole_of_a_damaged_file_is_taken(tmp_path, damage):
    p = frame(6)
    whole = len(p.out)
    if damage == "wrong event":
        p.out += b"\x77"
    elif damage == "large blob":
        p.out += b"\x00\x00" + number(p.functions["glBufferData"]) + b"\x01\x02\x08" + number(1 << 60)
    path = p.write(tmp_path / "a.trace")
    raw = path.read_bytes()
    if damage == "cut":
        p.out = p.out[: whole - 5]
        p.write(path)
    elif damage == "cut in a chunk":
        path.write_bytes(raw[:-3])
    elif damage == "flipped length":
        path.write_bytes(raw + b"\xff\xff\xff\xff rest")
    made, trace = imported(path)
    assert made.damage
    assert any("damaged" in note for note in made.notes)
    found = rows(trace, "SELECT name FROM calls ORDER BY seq")
    assert len(found) >= 6
    assert [row[0] for row in found[:2]] == ["glEnable", "glUniform4fv"]
    assert "import" in {row[0] for row in rows(trace, "SELECT code FROM notes")}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a",
        b"at",
        b"atxxxxxxxxx",
        b"at" + chunk(b"\x63"),
        b"\x1f\x8bnothing",
        b"\x28\xb5\x2f\xfdx",
        b"none at all",
    ],
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "a.trace"
    path.write_bytes(content)
    with pytest.raises(InputError):
        imported(path)


@pytest.fixture(scope="session")
def fuzz_import(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "fuzz_import", _fuzz_import)


def _fuzz_import(folder: Path) -> Path:
    names = ["apitrace_fill", "apitrace_import", "apitrace_plans", "apitrace_reader", "peers", "snappy", "source"]
    names += ["tcy2_import", "trace_writer"]
    sources = [
        *(ROOT / f"native/peers/{name}.cc" for name in names),
        *sanitized.HASH,
        *(ROOT / f"native/common/{name}.cc" for name in ("container", "signatures", "encoder")),
        ROOT / "tests/native/fuzz_import.cc",
    ]
    own = ("-DDRAWTAP_HAVE_ZLIB",)
    rooms = [ROOT / "native/third_party"]
    libraries = ("zstd", "z", "pthread")
    return sanitized.build(folder / "fuzz_import", sources, libraries=libraries, own=own, includes=rooms)


@pytest.mark.exhaustive  # the sanitizers take the compiler longer than the damage takes
def test_no_damage_gets_further_than_an_error(fuzz_import, tmp_path):
    whole = [str(frame(version).write(tmp_path / f"{version}.trace")) for version in (0, 2, 3, 6)]
    p = frame(6)
    p.call("vendorDraw", result=TRUE, a=sint(-3), d=string("words"), h=array(sint(1), array(string("x"), NULL)))
    p.call("memcpy", fake=True, dest=opaque(0x70008), src=blob(b"stored" * 1000), n=sint(6000))
    whole.append(str(p.write(tmp_path / "more.trace")))
    command = [str(fuzz_import), str(part(SIGNATURES)), str(tmp_path / "out.dtap"), str(DAMAGED), *whole]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) == len(whole) + DAMAGED


def test_the_command_says_what_it_made(drawtap, tmp_path):
    path = frame(6).write(tmp_path / "a.trace")
    answer = drawtap("import", path, "--json")
    assert answer.code == 0, answer.err
    made = json.loads(answer.out)
    assert (made["calls"], made["path"]) == (7, str(tmp_path / "a.dtap"))
    assert drawtap("import", path).code == 2
    assert drawtap("import", path, "--force").code == 0
    assert drawtap("import", tmp_path / "missing.trace").code == 4


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory):
    p = frame(6)
    for n in range(300_000):
        p.call("glUniform1f", location=sint(n % 7), v0=f32(n / 3))
    return p.write(tmp_path_factory.mktemp("long") / "long.trace", packing="gzip")


def _stopped(work, progress, cancel):
    """Ask all the time how far the work is, and, once it has begun, stop it; return done and to do, as they were."""
    ended, seen = threading.Event(), [(0, 0)]

    def ask():
        while not ended.is_set():
            answer = progress()
            if answer[0]:
                seen[0] = answer
                cancel()

    for _ in range(50):  # where the other thread gets no turn in time, the work is done before it is stopped
        ended.clear()
        asking = threading.Thread(target=ask)
        asking.start()
        try:
            work()
        except Cancelled:
            return seen[0]
        finally:
            ended.set()
            asking.join()
    raise AssertionError("nothing stopped it")


def test_an_import_says_how_far_it_is_and_can_be_stopped(long_trace, tmp_path):
    library, signatures, target = part(PEERS), part(SIGNATURES), tmp_path / "a.dtap"
    seen, total = _stopped(
        lambda: read_apitrace(long_trace, target, library=library, signatures=signatures),
        lambda: peers.progress(library),
        lambda: peers.cancel(library),
    )
    assert 0 < seen <= total == long_trace.stat().st_size
    assert not target.exists()
    # The next one is not stopped by what was asked of this one.
    assert read_apitrace(long_trace, target, library=library, signatures=signatures).calls > 300_000


def test_exports_say_how_far_they_are_and_can_be_stopped(long_trace, tmp_path):
    source, target = tmp_path / "a.dtap", tmp_path / "a.trace"
    read_apitrace(long_trace, source, library=part(PEERS), signatures=part(SIGNATURES))
    with Trace(source) as trace:
        for write in (
            lambda: write_apitrace(trace, Selection(), target),
            lambda: export_c(trace, tmp_path / "c"),
        ):
            seen, total = _stopped(write, trace.progress, trace.cancel)
            assert 0 < seen <= total
        assert not target.exists()
        write_apitrace(trace, Selection(), target)
        assert target.stat().st_size > 1_000_000
