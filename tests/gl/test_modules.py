"""Modules with users' hooks in real programs: each that comes along does what it says."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import drawtap
from shared import WHOLE

if TYPE_CHECKING:
    from conftest import Bench


def sql(trace: Path, query: str) -> list[dict[str, object]]:
    with drawtap.open(trace) as opened:
        return list(opened.sql(query).dicts())


pytestmark = [
    pytest.mark.gl,
    pytest.mark.skipif(not shutil.which("c++") and not shutil.which("g++"), reason="no C++ compiler here"),
]


@pytest.fixture(scope="module", autouse=True)
def _compiled_fast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the compiler optimise with make test-all alone: it takes half as long again."""
    found = shutil.which("c++") or shutil.which("g++")
    with pytest.MonkeyPatch.context() as patch:
        if not WHOLE and "CXX" not in os.environ and found:
            compiler = tmp_path_factory.mktemp("compiler") / "c++"
            compiler.write_text(f'#!/bin/sh\nexec {found} "$@" -O0\n')
            compiler.chmod(0o755)
            patch.setenv("CXX", str(compiler))
        yield


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for modules built for OpenGL ES 2: the whole of OpenGL takes the compiler a minute a module."""
    return tmp_path_factory.mktemp("modules")


def _module(folder: Path, name: str, *more: str) -> Path:
    library = folder / f"lib{'-'.join((name, *more))}.so"
    if not library.exists():
        inner = [word for each in more for word in ("-m", each)]
        command = ["build", name, *inner, "--api", "gles2", "--version", "2.0", "-o", str(library)]
        done = subprocess.run([sys.executable, "-m", "drawtap", *command], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    return library


def _checked_and_probed(folder: Path) -> Path:
    """Return a module with the hooks of two: each is compiled for all functions, which takes the compiler longest."""
    return _module(folder, "gl-errors", "probes")


def _run(
    bench: Bench, modules: Sequence[str | Path], argv: Sequence[str], *options: str, **settings: str
) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "drawtap",
        "run",
        *(w for m in modules for w in ("--module", str(m))),
        *options,
        "--",
    ]
    environment = {**bench.environment(), **settings}
    return subprocess.run(
        [*command, *bench.arguments(argv)], capture_output=True, text=True, timeout=300, env=environment
    )


def _metrics(path: Path, name: str) -> list[float]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line["value"] for line in lines if line.get("metric") == name]


@pytest.mark.exhaustive  # tests/unit/test_modules.py has its module
def test_the_call_printer_of_the_paper(programs: Bench, built: Path) -> None:
    done = _run(programs, [_module(built, "call-printer")], ["es2_triangle"])
    assert done.returncode == 0
    plain = programs.plain(["es2_triangle"])
    assert done.stdout == plain.stdout
    lines = [line for line in done.stderr.splitlines() if line.startswith("glDraw")]
    assert lines and lines == ["glDrawArrays Enter", "glDrawArrays Leave"] * (len(lines) // 2)


@pytest.mark.exhaustive  # it compiles all wrappers once more, with all their arguments
def test_arguments_are_printed_by_name(programs: Bench, built: Path) -> None:
    done = _run(programs, [_module(built, "arguments")], ["es2_triangle"], DRAWTAP_ONLY="glDraw")
    printed = [line.split(" ", 2)[2] for line in done.stderr.splitlines() if "glDrawArrays" in line]
    assert printed and set(printed) == {"glDrawArrays(mode = GL_TRIANGLES, first = 0, count = 3)"}


def test_gl_errors_are_found_and_left_to_the_program(programs: Bench, built: Path, tmp_path: Path) -> None:
    source = tmp_path / "errors.py"
    source.write_text(
        "h = func.Hooks(hook_funcs=[lambda f: func.Hook(is_target=f.name == 'glViewport', before_run='width = -1;')])"
    )
    done = _run(programs, [_checked_and_probed(built), source], ["es2_triangle"])
    assert "glViewport made GL error 0x0501" in done.stderr
    assert "error 0x501" in done.stdout  # the program asks for it at its end, and still sees it
    clean = _run(programs, [_checked_and_probed(built)], ["es2_triangle"])
    assert "GL error" not in clean.stderr and clean.stdout == programs.plain(["es2_triangle"]).stdout


def test_skipped_draws_draw_nothing(programs: Bench, built: Path, tmp_path: Path) -> None:
    log = tmp_path / "metrics"
    skipper = _module(built, "draw-skipper")
    same = _run(programs, [skipper], ["two_draws"], "--metrics", str(log))
    plain = programs.plain(["two_draws"])
    assert same.stdout == plain.stdout
    assert set(_metrics(log, "draws")) == {4.0}
    one, other = (_run(programs, [skipper], ["es2_triangle"], DRAWTAP_SKIP=text).stdout for text in ("0:1", "7"))
    assert one != other == programs.plain(["es2_triangle"]).stdout


def test_the_null_driver_draws_nothing_and_the_program_goes_on(programs: Bench, built: Path) -> None:
    done = _run(programs, [_module(built, "null-driver")], ["es2_triangle"])
    assert done.returncode == 0 and "10 frames" in done.stdout
    assert done.stdout != programs.plain(["es2_triangle"]).stdout


@pytest.mark.exhaustive  # make test has the loops that this module draws
def test_wireframe_changes_the_picture(programs: Bench, built: Path) -> None:
    done = _run(programs, [_module(built, "wireframe")], ["es2_triangle"])
    assert done.returncode == 0 and "error 0x0" in done.stdout
    assert done.stdout != programs.plain(["es2_triangle"]).stdout


def test_each_triangle_is_a_loop_of_its_own(programs: Bench, built: Path, tmp_path: Path) -> None:
    trace = tmp_path / "lines.dtap"
    source = tmp_path / "many.py"  # the program draws one triangle: say that it is two, and a list
    source.write_text(
        "h = func.Hooks(hook_funcs=[lambda f: func.Hook(is_target=f.name == 'glDrawArrays', before_run='count = 6;')])"
    )
    library = built / "libmany.so"
    command = ["build", str(source), "-m", "wireframe", "--api", "gles2", "--version", "2.0", "-o", str(library)]
    made = subprocess.run([sys.executable, "-m", "drawtap", *command], capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr
    done = _run(programs, [library], ["es2_triangle"], "--record", str(trace))
    assert done.returncode == 0, done.stderr
    drawn = sql(trace, "SELECT mode, first, count FROM glDrawArrays ORDER BY seq")
    loops = [{"mode": "GL_LINE_LOOP", "first": first, "count": 3} for first in (0, 3)]
    assert drawn == loops * 10


def test_sensors_count_each_frame(programs: Bench, built: Path, tmp_path: Path) -> None:
    log = tmp_path / "metrics"
    _run(programs, [_module(built, "sensors")], ["es2_triangle"], "--metrics", str(log))
    assert _metrics(log, "draws") == [1.0] * 10
    assert _metrics(log, "vertices") == [3.0] * 10


def test_the_limiter_holds_the_rate(programs: Bench, built: Path, tmp_path: Path) -> None:
    # No frame comes before it is due, and what is late is caught up by one interval at most.
    log = tmp_path / "metrics"
    modules = [_module(built, "draw-skipper"), _module(built, "frame-limiter")]
    _run(programs, modules, ["es2_triangle"], "--metrics", str(log), DRAWTAP_FPS="100")
    times = _metrics(log, "frame_ms")[1:]
    assert len(times) >= 5 and sum(times) >= (len(times) - 1) * 10.0 * 0.98


def test_what_the_driver_got_is_recorded_with_the_hooks_own_calls_and_metrics(
    programs: Bench, built: Path, tmp_path: Path
) -> None:
    trace = tmp_path / "shown.dtap"
    script = tmp_path / "extra.py"
    script.write_text(
        '''
h = func.Hooks(hook_funcs=[lambda f: func.Hook(
    is_target=f.name == "glDrawArrays",
    before_run="""glHint(GL_GENERATE_MIPMAP_HINT, GL_NICEST);
                  count = 6;
                  drawtap::metric("asked", 1.5);
                  drawtap::mark("here");""",
)])
'''
    )
    done = _run(programs, [script], ["es2_triangle"], "--record", str(trace))
    assert done.returncode == 0, done.stderr
    [row] = sql(trace, "SELECT count(*) AS n, min(count) AS count FROM glDrawArrays")
    assert row == {"n": 10, "count": 6}
    assert sql(trace, "SELECT count(*) AS n FROM glHint WHERE mode = 'GL_NICEST'") == [{"n": 10}]
    assert sql(trace, "SELECT count(*) AS n FROM calls WHERE name = 'glClear'") == [{"n": 10}]  # not hooked, recorded
    assert sql(trace, "SELECT name, sum(value) AS s FROM metrics GROUP BY name") == [{"name": "asked", "s": 15.0}]
    assert sql(trace, "SELECT count(*) AS n FROM marks WHERE text = 'here'") == [{"n": 10}]


@pytest.mark.parametrize("program", ["glmark2", pytest.param("glmark2-es2", marks=pytest.mark.exhaustive)])
def test_functions_found_by_name_are_hooked_and_recorded(programs: Bench, tmp_path: Path, program: str) -> None:
    # glmark2 links to no graphics library: it opens them and looks everything up.
    if not shutil.which(program) or programs.display is None:
        pytest.skip(f"{program} and Xvfb are needed")
    trace = tmp_path / "glmark2.dtap"
    argv = [shutil.which(program) or "", "--size", "64x64", "-b", "build:nframes=3"]
    done = _run(programs, ["wireframe"], argv, "--record", str(trace), EGL_PLATFORM="x11")
    assert done.returncode == 0, done.stderr
    assert sql(trace, "SELECT count(*) AS n FROM calls WHERE name = 'glClear'")[0]["n"] == 5  # two before the first
    if program == "glmark2":
        assert sql(trace, "SELECT count(*) AS n FROM glDrawArrays") == [{"n": 3}]
        assert sql(trace, "SELECT count(*) AS n FROM glPolygonMode WHERE mode = 'GL_LINE'") == [{"n": 3}]
    else:
        loops = sql(trace, "SELECT mode, count, count(*) AS n FROM glDrawArrays GROUP BY ALL")
        assert [(row["mode"], row["count"], int(str(row["n"])) % 3) for row in loops] == [("GL_LINE_LOOP", 3, 0)]


def test_a_module_that_cannot_get_in_is_said(programs: Bench, built: Path, tmp_path: Path) -> None:
    done = _run(programs, [_module(built, "draw-skipper"), "no-such-module"], ["es2_triangle"])
    assert done.returncode == 2 and "no-such-module" in done.stderr
    done = _run(programs, [tmp_path / "missing.so"], ["es2_triangle"])
    assert done.returncode == 4 and "missing.so" in done.stderr


def _hooks(folder: Path, body: str, header: str = "") -> Path:
    script = folder / "hooks.py"
    script.write_text(
        f"hooks = func.Hooks(header={header!r}, hook_funcs=["
        f"lambda f: func.Hook(is_target=f.name == 'glDrawArrays', before_run={body!r})])\n"
    )
    return script


def test_a_module_has_probes_of_its_own(programs: Bench, tmp_path: Path, drawtap) -> None:
    body = 'DRAWTAP_PROBE(my_draw, mode, count, 1.5f); DRAWTAP_PROBE(seen); fprintf(stderr, "drawn\\n");'
    script = _hooks(tmp_path, body, '#include "user/probe.h"\n#include <stdio.h>')
    library = tmp_path / "libhooks.so"
    answer = drawtap("build", script, "--api", "gles2", "--version", "2.0", "-o", library)
    assert answer.code == 0, answer.err
    done = _run(programs, [library], ["es2_triangle", "3"])
    assert done.returncode == 0 and done.stderr.count("drawn") == 3
    notes = _notes(library)
    assert notes["my_draw"].split("@")[0] == "-8" and notes["my_draw"].count("@") == 3
    assert notes["seen"] == ""


def _notes(library: Path) -> dict[str, str]:
    """Return the arguments of the probes of a library by name, as its notes have them (readelf's layout in Python)."""
    content, found, at = library.read_bytes(), {}, 0
    mark = b"\x03\0\0\0stapsdt\0"
    while (at := content.find(mark, at)) >= 0:
        at += len(mark) + 24  # its place, the base, the semaphore
        provider, name, arguments = content[at:].split(b"\0", 3)[:3]
        assert provider == b"drawtap"
        found[name.decode()] = arguments.decode()
    return found


def test_mistakes_of_the_linker_and_of_names_are_explained(tmp_path: Path, drawtap) -> None:
    script = _hooks(tmp_path, "nowhere(count);", "int nowhere(int);")
    answer = drawtap("build", script, "--api", "gles2", "--version", "2.0", "-o", tmp_path / "x.so")
    assert answer.code == 1
    hint = answer.err.partition("\nhint: ")[2]
    assert hint.startswith("nothing defines") and "nowhere" in hint and 'extern "C"' in hint
    assert "left open" not in hint


def test_suggestions_of_the_compiler_name_nothing_internal() -> None:
    from drawtap.instrument.module import _without_internals

    said = "hooks.py:3:5: error: 'dt_cor' was not declared; did you mean 'dt_core_glClear'?\n"
    assert _without_internals(said) == "hooks.py:3:5: error: 'dt_cor' was not declared\n"
    own = "hooks.py:3:5: error: 'cuont' was not declared in this scope; did you mean 'count'?\n"
    assert _without_internals(own) == own


@contextlib.contextmanager
def _drawing(programs: Bench, library: Path) -> Iterator[int]:
    """Run a program that draws until the end of the block; yield its pid once a driver is in it."""
    running = subprocess.Popen(
        [str(programs.programs / "two_draws"), "100000000", "0"],
        env={**programs.environment(), "LD_PRELOAD": str(library)},
        stdout=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while not any(name in Path(f"/proc/{running.pid}/maps").read_text() for name in ("gallium", "_dri.so")):
            assert running.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        yield running.pid
    finally:
        running.kill()
        running.wait()


def test_probes_are_seen_from_outside(programs: Bench, built: Path) -> None:
    library = _checked_and_probed(built)
    notes = subprocess.run(["readelf", "-n", str(library)], capture_output=True, text=True)
    if notes.returncode:
        pytest.skip("readelf is not installed")
    for name in ("glDrawArrays_entry", "glDrawArrays_exit", "eglSwapBuffers_entry", "frame"):
        assert f"Name: {name}\n" in notes.stdout
    done = _run(programs, [library], ["es2_triangle"])  # nobody listens
    assert done.returncode == 0 and done.stdout == programs.plain(["es2_triangle"]).stdout
    bpftrace = shutil.which("bpftrace")
    if bpftrace is None or os.geteuid() != 0:
        pytest.skip("bpftrace and root are needed to listen")
    script = " ".join(
        f"usdt:{library}:drawtap:{text}"
        for text in (
            "glDrawArrays_entry { @first[arg1, arg2] = count(); @draws++; }",
            "glClearColor_entry { @red = arg0; }",
            "eglSwapBuffers_exit { @swapped[arg2] = count(); @swaps++; }",
            "frame { @length = max(arg1); if (@draws > 20 && @swaps > 5 && @red) { exit(); } }",
        )
    )
    with _drawing(programs, library) as pid:
        command = [bpftrace, "-p", str(pid), "-e", script]
        heard = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if "@" not in heard.stdout and heard.returncode:
        pytest.skip(f"bpftrace cannot attach here: {heard.stderr.strip()[-200:]}")
    assert all(f"@first[{first}, 3]: " in heard.stdout for first in (0, 3, 6, 9))
    assert f"@red: {struct.unpack('I', struct.pack('f', 0.2))[0]}" in heard.stdout
    assert "@swapped[1]: " in heard.stdout
    assert "@length: " in heard.stdout


def test_perf_records_probes_with_their_arguments(programs: Bench, built: Path, tmp_path: Path) -> None:
    perf = shutil.which("perf")
    if perf is None or os.geteuid() != 0:
        pytest.skip("perf and root are needed to listen")
    library = _checked_and_probed(built)
    events = ("sdt_drawtap:glDrawArrays_entry", "sdt_drawtap:eglSwapBuffers_exit")
    environment = {**programs.environment(), "HOME": str(tmp_path)}  # where perf keeps what it knows of libraries

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([perf, *words], capture_output=True, text=True, timeout=300, env=environment)

    call("buildid-cache", "--add", str(library))
    added = call("probe", "-q", *(w for event in events for w in ("--add", event)))
    if added.returncode:
        pytest.skip(f"perf cannot add probes here: {added.stderr.strip()[-200:]}")
    try:
        data = tmp_path / "perf.data"
        chosen = [w for event in events for w in ("-e", event)]
        program = ("env", f"LD_PRELOAD={library}", str(programs.programs / "two_draws"), "20", "0")
        done = call("record", "-q", "-o", str(data), *chosen, "--", *program)
        assert done.returncode == 0, done.stderr
        heard = call("script", "-i", str(data), "-F", "event,trace").stdout
    finally:
        for event in events:
            call("probe", "-q", "-d", event)
    assert {f"arg1=4 arg2={first} arg3=3" for first in (0, 3, 6, 9)} <= {
        line.partition(") ")[2].strip() for line in heard.splitlines() if "glDrawArrays_entry" in line
    }
    assert any(line.endswith("arg3=1") for line in heard.splitlines() if "eglSwapBuffers_exit" in line)


_BCC = """
import sys, time
from bcc import BPF, USDT
probes = USDT(pid=int(sys.argv[1]))
probes.enable_probe_or_bail(probe="drawtap:glDrawArrays_entry", fn_name="draw")
program = BPF(usdt_contexts=[probes], text='''
#include <uapi/linux/ptrace.h>
BPF_HASH(firsts, u64, u64);
int draw(struct pt_regs *ctx) {
  int first = 0;
  bpf_usdt_readarg(2, ctx, &first);
  u64 key = first;
  firsts.increment(key);
  return 0;
}
''')
while len(program["firsts"]) < 4:
    time.sleep(0.1)
print("firsts", sorted(key.value for key in program["firsts"].keys()))
"""


def test_bcc_knows_the_probes(programs: Bench, built: Path) -> None:
    listing = shutil.which("tplist-bpfcc") or shutil.which("tplist")
    if listing is None:
        pytest.skip("bcc's tools are not installed (Debian package bpfcc-tools)")
    library = _checked_and_probed(built)
    listed = subprocess.run([listing, "-vv", "-l", str(library)], capture_output=True, text=True, timeout=300)
    assert "drawtap:glDrawArrays_entry [sema 0x" in listed.stdout and "drawtap:frame [sema" in listed.stdout
    assert "argument #3 4 signed   bytes" in listed.stdout
    headers = os.environ.get("BCC_KERNEL_SOURCE") or f"/lib/modules/{os.uname().release}/build"
    if os.geteuid() != 0 or not Path(headers).exists():
        pytest.skip("bcc compiles for a kernel: it needs root and that kernel's headers (or BCC_KERNEL_SOURCE)")
    with _drawing(programs, library) as pid:
        command = ["/usr/bin/python3", "-c", _BCC, str(pid)]
        heard = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert "firsts [0, 3, 6, 9]" in heard.stdout, heard.stderr[-500:]
