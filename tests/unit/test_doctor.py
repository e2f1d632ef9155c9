"""The doctor: what it sees in programs, and what recording does and says around a program."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from drawtap.capture import doctor
from drawtap.capture.elf import read_elf
from drawtap.capture.launch import find_program
from drawtap.errors import ChildError, UnavailableError
from drawtap.parts import PARTS, TAP, folders, part

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Return a function that compiles C to a program."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_(name: str, source: str, *flags: str) -> Path:
        path = folder / name
        if not path.exists():
            subprocess.run(["gcc", "-x", "c", "-", "-o", str(path), *flags], input=source, text=True, check=True)
        return path

    return compile_


def findings(path: Path) -> str:
    return "\n".join(f"{c.severity} {c.subject}: {c.finding}" for c in doctor.program(str(path)))


def test_a_linked_program(build):
    path = build(
        "linked", "void eglInitialize(void); int main(void) { eglInitialize(); }", "-lEGL", "-Wl,--no-as-needed"
    )
    text = findings(path)
    assert "ok format: 64-bit x86-64, dynamically linked" in text
    assert "ok graphics: linked to EGL" in text
    assert not doctor.refusals(path)


def test_a_program_that_opens_its_library(build):
    path = build("opens", '#include <dlfcn.h>\nint main(void) { return !dlopen("libGLESv2.so.2", 1); }', "-ldl")
    assert "ok graphics: may open at run time: OpenGL ES 2 and later" in findings(path)


def test_a_vulkan_program(build):
    path = build("vulkan", '#include <dlfcn.h>\nint main(void) { return !dlopen("libvulkan.so.1", 1); }', "-ldl")
    assert "ok graphics: Vulkan, as far as the file says" in findings(path)


def test_a_program_without_graphics(build):
    assert "warning graphics: no sign of OpenGL" in findings(build("plain", "int main(void) { return 0; }"))


def test_a_static_program(build):
    path = build("static", "int main(void) { return 0; }", "-static")
    assert "error format: statically linked" in findings(path)
    assert [check.subject for check in doctor.missing_calls(path, (), tapped=None)] == ["format"]


def test_a_32_bit_program(tmp_path):
    path = tmp_path / "old"
    header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0, 52, 0, 0, 52, 32, 0, 0, 0, 0)
    path.write_bytes(header)
    path.chmod(0o755)
    elf = read_elf(path)
    assert elf is not None
    assert (elf.bits, elf.machine) == (32, "x86")
    assert "error format: a 32-bit program; the tap here is 64-bit" in findings(path)


def test_broken_elf_files_are_no_elf_files(tmp_path):
    whole = Path(sys.executable).resolve().read_bytes()[:4096]
    for size in (4, 5, 6, 17, 63, 70, 500):
        path = tmp_path / f"cut{size}"
        path.write_bytes(whole[:size])
        read_elf(path)  # may answer or not: it must not raise
    assert read_elf(tmp_path / "cut17") is None


def test_setuid(build, tmp_path, monkeypatch):
    path = tmp_path / "setuid"
    shutil.copy(build("plain", "int main(void) { return 0; }"), path)
    path.chmod(stat.S_ISUID | 0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "error rights: setuid or setgid" in findings(path)


def test_a_script_is_its_interpreter(tmp_path):
    path = tmp_path / "start.sh"
    path.write_text("#!/usr/bin/env bash\nexec glxgears\n")
    path.chmod(0o755)
    text = findings(path)
    assert "start.sh runs in bash" in text
    flatpak = tmp_path / "flat"
    flatpak.write_text("#!/bin/sh\nexec flatpak run org.example.Game\n")
    flatpak.chmod(0o755)
    assert "error sandbox: this starts a flatpak" in findings(flatpak)


@pytest.mark.parametrize(
    ("libraries", "tapped", "words"),
    [
        (("libvulkan.so.1",), True, "loaded Vulkan but called nothing"),
        ((), True, "loaded no OpenGL library"),
        ((), False, "did not load the tap"),
        (("libEGL.so.1.1.0", "libGLESv2.so.2.1.0"), True, "loaded EGL, OpenGL ES 2 and later but called nothing in it"),
        ((), None, "ended before its libraries could be seen, and made no graphics call"),
    ],
)
def test_why_nothing_was_recorded(build, libraries, tapped, words):
    checks = doctor.missing_calls(build("plain", "int main(void) { return 0; }"), libraries, tapped)
    assert words in checks[0].finding
    assert checks[0].advice


@pytest.mark.parametrize("libraries", [(), ("libEGL.so.1.1.0",)])
def test_a_program_without_calls_may_lack_a_display(build, libraries, monkeypatch):
    program = build("plain", "int main(void) { return 0; }")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert "xvfb-run" in str(doctor.missing_calls(program, libraries, None)[-1].advice)
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert not [check for check in doctor.missing_calls(program, libraries, None) if check.subject == "display"]


@pytest.mark.parametrize(
    ("libraries", "loaded", "words"),
    [
        (("libvulkan.so.1",), True, "loaded Vulkan but no call in it was seen"),
        ((), True, "no graphics library was seen"),
        (("libSDL2-2.0.so.0",), True, "no graphics library was seen"),
        (("libEGL.so.1.1.0",), False, "was not seen in the program"),
        (("libEGL.so.1.1.0", "libGLESv2.so.2.1.0"), True, "EGL, OpenGL ES 2 and later but no call in it was seen"),
        ((), None, "hardly made a graphics call"),
    ],
)
def test_why_nothing_can_have_been_tapped(build, libraries, loaded, words):
    program = build("plain", "int main(void) { return 0; }")
    checks = doctor.missing_calls(program, libraries, loaded, counted=False)
    assert words in checks[0].finding and checks[0].advice
    # Where only some functions are wrapped, a program that uses graphics may have called the others.
    some = doctor.missing_calls(program, libraries, loaded, counted=False, whole=False)
    assert some == ([] if loaded and "libEGL.so.1.1.0" in libraries else checks)


def test_a_program_without_graphics_is_said_to_be_one(drawtap, tmp_path):
    for options in ((), ("-m", str(part(TAP))), ("--record", str(tmp_path / "none.dtap"))):
        for code in (0, 7):
            answer = drawtap("run", *options, "--", "sh", "-c", f"exit {code}")
            assert answer.code == code and answer.out == ""
            assert "OpenGL" in answer.err or "graphics" in answer.err
            assert "drawtap doctor" in answer.err or "DISPLAY" in answer.err


def test_a_program_that_loads_graphics_and_calls_nothing_is_said_to_be_one(build, drawtap):
    source = '#include <dlfcn.h>\n#include <unistd.h>\nint main(int c, char **v) { void *gl = dlopen("libEGL.so.1", 2);'
    source += 'if (c > 1) ((int (*)(void))dlsym(gl, "eglGetError"))(); return usleep(900000); }'
    program = build("loads", source, "-ldl")
    for options in ((), ("-m", str(part(TAP)))):
        assert "loaded EGL but no call in it was seen" in drawtap("run", *options, "--", program).err
        assert drawtap("run", *options, "--", program, "calls").err == ""


def test_the_environment_has_a_verdict_for_everything(drawtap):
    answer = drawtap("doctor", "--json")
    found = json.loads(answer.out)
    assert {"drawtap", "C library", "shared memory", "clock", "compiler", "disk"} <= {v["subject"] for v in found}
    assert all(v["finding"] and v["severity"] in {"ok", "note", "warning", "error"} for v in found)


def test_missing_parts_are_an_error(drawtap, monkeypatch, tmp_path):
    monkeypatch.setenv("DRAWTAP_NATIVE", str(tmp_path))
    answer = drawtap("doctor")
    assert answer.code == 1
    for name in PARTS:
        assert name in answer.out
    with pytest.raises(UnavailableError, match="is missing from"):
        part(PARTS[0])


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("glxgeers-does-not-exist", 127, "there is no program"),
        ("./nowhere/program", 127, "there is no program"),
        ("/tmp", 126, "is a folder"),
        ("/etc/passwd", 126, "is not executable"),
    ],
)
def test_programs_that_cannot_start(drawtap, tmp_path, name, code, words):
    with pytest.raises(ChildError, match=words):
        find_program(name)
    answer = drawtap("record", "-o", tmp_path / "x.dtap", "--", name)
    assert answer.code == code
    assert words in answer.err
    assert not (tmp_path / "x.dtap").exists()


def test_a_name_close_by(tmp_path, monkeypatch):
    for name in ("glxgears", "other"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ChildError) as error:
        find_program("glxgeers")
    assert error.value.hint == "did you mean glxgears?"


# ---- recording programs that draw nothing: everything around the tap ---------------------------------------------

needs_parts = pytest.mark.skipif(
    not any((folder / PARTS[0]).exists() for folder in folders()), reason="the native parts are not built"
)


def record(
    output: Path, *program: str | Path, options: tuple[str, ...] = (), **more: object
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "drawtap", "record", "-o", str(output), *options, "--", *map(str, program)]
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300, **more)


@needs_parts
@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_the_exit_code_is_passed_on(tmp_path, script, code):
    done = record(tmp_path / "x.dtap", "sh", "-c", script)
    assert done.returncode == code
    assert "no calls" in done.stderr


@needs_parts
def test_streams_and_arguments_are_untouched(tmp_path):
    script = 'read line; printf "%s|%s|%s" "$line" "$1" "$2"; echo err >&2'
    done = record(tmp_path / "x.dtap", "sh", "-c", script, "sh", "a b", "--json", input="from stdin\n", options=("-q",))
    assert done.stdout == "from stdin|a b|--json"
    assert done.stderr.startswith("err\n")


@needs_parts
def test_nothing_recorded_can_be_an_error(tmp_path):
    assert record(tmp_path / "x.dtap", "true", options=("--require-calls",)).returncode == 3
    assert record(tmp_path / "x.dtap", "sh", "-c", "exit 4", options=("--require-calls",)).returncode == 4


@needs_parts
def test_an_existing_file_is_kept(tmp_path):
    output = tmp_path / "x.dtap"
    output.write_text("precious")
    done = record(output, "true")
    assert done.returncode == 2
    assert "--force replaces it" in done.stderr
    assert output.read_text() == "precious"


@needs_parts
def test_a_missing_folder(tmp_path):
    done = record(tmp_path / "no" / "x.dtap", "true")
    assert done.returncode == 2
    assert "there is no folder" in done.stderr


@needs_parts
def test_a_static_program_is_explained(tmp_path, build):
    done = record(tmp_path / "x.dtap", build("static", "int main(void) { return 0; }", "-static"))
    assert done.returncode == 0
    assert "statically linked" in done.stderr


@needs_parts
def test_ctrl_c_is_the_programs(tmp_path):
    command = [sys.executable, "-m", "drawtap", "record", "-o", str(tmp_path / "x.dtap"), "--", "sh", "-c",
               'trap "echo caught; exit 3" INT; echo ready; while :; do sleep 0.05; done']  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    # Under nohup and & the signal is ignored, and a shell cannot take that back.
    with subprocess.Popen(
        ["env", "--default-signal=INT", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the recorder and the program
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (3, "caught\n"), err
    assert "Traceback" not in err


@needs_parts
def test_sigterm_is_passed_on(tmp_path):
    command = [
        sys.executable,
        "-m",
        "drawtap",
        "record",
        "-o",
        str(tmp_path / "x.dtap"),
        "--",
        "sh",
        "-c",
        "echo ready; exec sleep 30",
    ]
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)
        process.terminate()
        process.communicate(timeout=300)
    assert process.returncode == 143


@pytest.fixture
def left(tmp_path, monkeypatch):
    """Return a temporary folder with what killed runs leave, and caches with something in them."""
    temporary, cache = tmp_path / "tmp", tmp_path / "cache"
    made = [temporary / "drawtap-abcd_123", temporary / "drawtap-corpus-abcd_123"]
    for path in (*made, cache / "drawtap/state", cache / "drawtap/engines", tmp_path / "own"):
        path.mkdir(parents=True)
        (path / "file").write_bytes(b"x" * 5000)
    for name in ("drawtap-notes", "drawtap-corpus-notes", "drawtap-games-abcd_123"):
        (temporary / name).mkdir()  # not names that drawtap makes
    (temporary / "drawtap-00000000").symlink_to(tmp_path / "own")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.delenv("DRAWTAP_CACHE", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setattr("drawtap.capture.leftovers._starts", lambda: iter(()))
    return tmp_path


def test_caches_and_leftovers_are_listed_and_deleted(drawtap, left):
    listed = drawtap("doctor", "--clean", "--json")
    expected = {"drawtap-abcd_123", "drawtap-corpus-abcd_123", "state", "engines"}
    assert {Path(item["path"]).name for item in json.loads(listed.out)} == expected
    assert all(item["size_bytes"] >= 5000 and not item["deleted"] for item in json.loads(listed.out))
    assert (left / "cache/drawtap/state/file").exists()
    done = drawtap("doctor", "--clean", "--yes")
    assert done.code == 0
    assert "freed" in done.out
    others = ["drawtap-00000000", "drawtap-corpus-notes", "drawtap-games-abcd_123", "drawtap-notes"]
    assert sorted(path.name for path in (left / "tmp").iterdir()) == others
    assert (left / "own/file").exists()
    assert not list((left / "cache/drawtap").iterdir())


def test_what_a_running_command_may_need_is_kept(drawtap, left, monkeypatch):
    changed = (left / "tmp/drawtap-abcd_123").stat().st_mtime
    monkeypatch.setattr("drawtap.capture.leftovers._starts", lambda: iter((changed + 5,)))
    assert not any(item["in_use"] for item in json.loads(drawtap("doctor", "--clean", "--json").out))
    monkeypatch.setattr("drawtap.capture.leftovers._starts", lambda: iter((changed + 5, changed - 5)))
    assert drawtap("doctor", "--clean", "--yes").code == 0
    assert (left / "tmp/drawtap-abcd_123/file").exists()
    assert not list((left / "cache/drawtap").iterdir())


def test_a_process_with_drawtap_in_it_is_seen(monkeypatch):
    from drawtap.capture import leftovers

    code = f"import ctypes, sys; ctypes.CDLL({str(part('libdrawtap-core.so'))!r}); print(flush=True); sys.stdin.read()"
    before = time.time()
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline()
        assert any(before - 3 <= started <= time.time() for started in leftovers._starts())
        seen = {Path(f"/proc/{child.pid}")}
        monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(seen))
        assert len(list(leftovers._starts())) == 1
    finally:
        child.kill()
        child.wait()


def test_yes_alone_and_a_program_to_clean_are_mistakes(drawtap):
    assert drawtap("doctor", "--yes").code == 2
    assert drawtap("doctor", "ls", "--clean").code == 2
