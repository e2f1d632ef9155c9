"""Say what works here, which graphics paths a program has, and why a recording has no calls or no frames."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import drawtap
from drawtap.capture.elf import Elf, behind_scripts, is_musl, read_elf
from drawtap.capture.launch import find_program, output_of
from drawtap.errors import DrawtapError
from drawtap.parts import PARTS, part

_GL_LIBRARIES: Mapping[str, str] = {
    "libGL.so": "OpenGL + GLX",
    "libOpenGL.so": "OpenGL",
    "libGLX.so": "GLX",
    "libEGL.so": "EGL",
    "libGLESv1_CM.so": "OpenGL ES 1",
    "libGLESv2.so": "OpenGL ES 2 and later",
    "libOpenVG.so": "OpenVG",
}
# Toolkits that load the GL libraries themselves when the program draws.
_TOOLKITS = (
    "libSDL",
    "libglfw",
    "libepoxy",
    "libQt5Gui",
    "libQt6Gui",
    "libgtk-3",
    "libgtk-4",
    "libGLEW",
    "libglut",
    "libclutter",
    "libsfml-window",
    "libwaffle",
    "libcairo-gobject",
    "libwx_gtk",
)
_NAMES_IN_FILE = re.compile(
    rb"lib(?:GL|OpenGL|GLX|EGL|GLESv1_CM|GLESv2|OpenVG|vulkan)\.so(?:\.\d+)*|(?:gl|egl|glX|vk)GetProcAddress(?:ARB)?"
    rb"|vkGetInstanceProcAddr"
)
_SEARCHED_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a check: severity `ok`, `note`, `warning` or `error`, what was found, what to do about it."""

    severity: str
    subject: str
    finding: str
    advice: str | None = None


def environment() -> Iterator[Check]:
    """Yield what this machine has and lacks for recording."""
    yield from _parts()
    yield _libc()
    yield _memfd()
    yield _clock()
    yield from _drivers()
    yield _compiler()
    yield _disk()


def program(name: str) -> Iterator[Check]:
    """Yield which graphics paths a program has, and what would keep the tap out of it.

    Nothing is run: the answers come from the file and its libraries. Raises ChildError where there is no such program.
    """
    path = find_program(name)
    path, wrappers = behind_scripts(path)
    yield Check("ok", "program", " -> ".join(str(p) for p in (*wrappers, path)))
    yield from _sandbox(path, wrappers)
    elf = read_elf(path)
    if elf is None:
        yield Check("error", "program", f"{path} is neither an ELF file nor a script", "name the program itself")
        return
    yield from _loader(path, elf)
    if elf.interpreter is not None and elf.bits == _own_bits() and elf.machine == _own_machine():
        yield from _libraries(path, elf)


def refusals(path: Path) -> list[Check]:
    """Return what keeps the tap out of the program at `path` for certain (an empty list: nothing)."""
    path, wrappers = behind_scripts(path)
    elf = read_elf(path)
    checks = [*_sandbox(path, wrappers)]
    if elf is not None:
        checks += _loader(path, elf)
    return [check for check in checks if check.severity == "error"]


def is_vulkan_alone(libraries: Iterable[str]) -> bool:
    """Tell whether a program had Vulkan, and no library of OpenGL, by the libraries that were seen in it."""
    seen = tuple(libraries)
    return any(name.startswith("libvulkan") for name in seen) and not any(map(_words, seen))


def _words(name: str) -> list[str]:
    return [word for soname, word in _GL_LIBRARIES.items() if name.startswith(soname)]


def missing_calls(
    executable: Path, libraries: Iterable[str], tapped: bool | None, *, counted: bool = True, whole: bool = True
) -> list[Check]:
    """Return why a recording of `executable` has no call, likeliest reason first.

    `libraries` were seen in the program while it ran; `tapped` says whether the tap (a module) was (None: nobody could
    look). Where calls were not `counted`, nothing more is known than that none was seen; if the tap does not cover the
    `whole` API, a program with a graphics library may have made other calls. Only then is the list empty.
    """
    certain = refusals(executable)
    if certain:
        return certain
    seen = set(libraries)
    graphics = sorted({word for name in seen for word in _words(name)})
    called = "called nothing in it" if counted else "no call in it was seen"
    if tapped is False:
        finding = (
            "the dynamic linker did not load the tap into the program"
            if counted
            else "was not seen in the program: the dynamic linker did not load it"
        )
        hint = (
            "did it drop LD_PRELOAD (then record --layer sees its Vulkan), or replace itself by another program? "
            "see drawtap doctor PROGRAM"
        )
        return [Check("error", "tap", finding, hint)]
    if is_vulkan_alone(seen):
        hint = "--api gl leaves Vulkan out; run the program by itself first"
        return [Check("warning", "API", f"the program loaded Vulkan but {called}", hint)]
    if not graphics and tapped:
        finding = (
            "the program loaded no OpenGL library while it ran"
            if counted
            else "no graphics library was seen in the program: nothing of it was tapped"
        )
        hint = "did it stop before it opened a window? run it by itself first; does it need DISPLAY?"
        return [Check("warning", "API", finding, hint), *_no_display()]
    if graphics and not whole:
        return []
    if graphics:
        finding = f"the program loaded {', '.join(graphics)} but {called}"
        hint = "did it stop before it drew? run it by itself first"
        return [Check("warning", "API", finding, hint), *_no_display()]
    finding = (
        "the program ended before its libraries could be seen, and made no graphics call"
        if counted
        else "the program ended before a graphics library could be seen in it: it hardly made a graphics call"
    )
    hint = f"run it by itself first; drawtap doctor {executable.name} says what it links"
    return [Check("warning", "program", finding, hint), *_no_display()]


def _no_display() -> Iterator[Check]:
    """Yield a check where this machine has no display that programs could open windows on."""
    if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
        yield Check("note", "display", "none set", "programs with windows: xvfb-run drawtap record ... (package xvfb)")


def missing_frames(why: str) -> Check:
    """Return why a recording with calls has no frame; `why` is what the reader says of its rule."""
    hint = "drawtap histogram shows what was called; --frame-end FUNCTION sets another rule"
    return Check("note", "frames", f"none: {why}", hint)


def _parts() -> Iterator[Check]:
    missing = []
    for name in PARTS:
        try:
            part(name)
        except DrawtapError:
            missing.append(name)
    where = ", ".join(str(Path(folder)) for folder in drawtap.__path__)
    if missing:
        yield Check("error", "drawtap", f"{', '.join(missing)} missing in {where}", "make build makes the native parts")
    else:
        yield Check("ok", "drawtap", f"{drawtap.__version__}, all parts there")


def _libc() -> Check:
    name, version = platform.libc_ver()
    if name != "glibc":
        return Check("error", "C library", name or "not glibc", "the tap needs glibc 2.28 or later")
    old = tuple(int(n) for n in version.split(".")[:2]) < (2, 28)
    return Check("error" if old else "ok", "C library", f"glibc {version}", "2.28 or later is needed" if old else None)


def _memfd() -> Check:
    try:
        os.close(os.memfd_create("drawtap"))
    except OSError as error:
        hint = "does a sandbox or seccomp profile forbid it?"
        return Check("error", "shared memory", f"memfd_create fails: {error.strerror}", hint)
    return Check("ok", "shared memory", "memfd works")


def _clock() -> Check:
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return Check("note", "clock", "/proc/cpuinfo is not readable: the slower clock is taken")
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "").split()
    if {"constant_tsc", "nonstop_tsc"} <= set(flags):
        return Check("ok", "clock", "invariant time stamp counter: about 10 ns a reading")
    if platform.machine() == "aarch64":
        return Check("ok", "clock", "architectural counter")
    return Check("note", "clock", "no invariant time stamp counter: clock_gettime is taken, about 20 ns a reading")


def _drivers() -> Iterator[Check]:
    cache_ = _library_cache()
    for soname in ("libEGL.so.1", "libGL.so.1", "libGLESv2.so.2", "libOpenGL.so.0"):
        if soname not in cache_:
            yield Check("note", "libraries", f"{soname} is not installed", "programs that need it do not start here")
    if "libEGL.so.1" not in cache_ or "libGLESv2.so.2" not in cache_:
        return
    yield _driver("EGL without a display", "egl")
    display = os.environ.get("DISPLAY")
    if display:
        yield _driver(f"EGL on {display}", "x11")
    else:
        yield from _no_display()


def _driver(subject: str, how: str) -> Check:
    place = {"PYTHONPATH": os.pathsep.join(str(Path(p).parent) for p in drawtap.__path__)}
    code, text = output_of(
        [sys.executable, "-m", "drawtap.capture.probe", how], environment=os.environ | place, seconds=20
    )
    try:
        answer = json.loads(text) if code == 0 else {}
    except ValueError:
        answer = {}
    if answer.get("driver"):
        return Check("ok", subject, f"{answer['driver']}, {answer['version']}")
    if code < 0:
        finding = f"the driver did not answer ({text.strip() or code})"
    else:
        finding = str(answer.get("error") or text.strip().splitlines()[-1:] or "no answer")
    hint = "install a driver (Debian: libegl1 libgl1-mesa-dri), or see that it works by itself"
    return Check("warning", subject, finding, hint)


def _compiler() -> Check:
    for name in filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++")):
        if shutil.which(name):
            return Check("ok", "compiler", f"{shutil.which(name)} (for drawtap build)")
    if importlib.util.find_spec("ziglang"):
        return Check("ok", "compiler", "the wheel ziglang (for drawtap build)")
    hint = "only drawtap build needs one: apt install g++, or pip install 'drawtap[compiler]'"
    return Check("note", "compiler", "none", hint)


def _disk() -> Check:
    free = shutil.disk_usage(Path.cwd()).free
    text = f"{free / 2**30:.1f} GiB free in {Path.cwd()}"
    if free < 1 << 30:
        hint = "long recordings take tens of MB a second at most; when the disk is full they stop"
        return Check("warning", "disk", text, hint)
    return Check("ok", "disk", text)


def _sandbox(path: Path, wrappers: Sequence[Path]) -> Iterator[Check]:
    real = path.resolve()
    if real.name == "snap" or str(path).startswith("/snap/"):
        hint = (
            "snap run --shell, and drawtap inside it; for Vulkan record --layer, if the sandbox shows /tmp and drawtap"
        )
        yield Check("error", "sandbox", "this is a snap: its sandbox drops LD_PRELOAD", hint)
    for script in wrappers:
        text = script.read_bytes()[:65536]
        if b"flatpak run" in text or real.name == "flatpak":
            hint = "flatpak run --command=sh, and drawtap inside; for Vulkan record --layer, if the sandbox shows /tmp"
            yield Check("error", "sandbox", "this starts a flatpak: its sandbox drops LD_PRELOAD", hint)
    if wrappers:
        finding = f"{wrappers[0].name} runs in {path.name}; what it starts is recorded too"
        yield Check("note", "script", finding, "each process with calls gets a file of its own")


def _loader(path: Path, elf: Elf) -> Iterator[Check]:
    mode = path.stat().st_mode
    if mode & (stat.S_ISUID | stat.S_ISGID) and os.geteuid() != 0:
        hint = f"record a copy without the bit: cp {path} /tmp/ && drawtap record -o FILE -- /tmp/{path.name}"
        yield Check("error", "rights", "setuid or setgid: the dynamic linker ignores LD_PRELOAD", hint)
    elif mode & (stat.S_ISUID | stat.S_ISGID):
        yield Check("warning", "rights", "setuid or setgid: recorded only while real and effective user are the same")
    if _capabilities(path) and os.geteuid() != 0:
        hint = f"record a copy without them: cp {path} /tmp/"
        yield Check("error", "rights", "file capabilities: the dynamic linker ignores LD_PRELOAD", hint)
    if elf.bits != _own_bits():
        finding = f"a {elf.bits}-bit program; the tap here is {_own_bits()}-bit"
        yield Check("error", "format", finding, "take the 64-bit version of the program")
    elif elf.machine != _own_machine():
        yield Check("error", "format", f"a program for {elf.machine}; this machine is {_own_machine()}")
    elif elf.interpreter is None:
        hint = "link it dynamically, at least to the C library and the GL libraries"
        yield Check("error", "format", "statically linked: there is no dynamic linker that could load the tap", hint)
    elif is_musl(elf):
        finding = f"linked to musl ({elf.interpreter}); the tap needs glibc, so the program runs without it"
        yield Check("error", "format", finding, "record a build of the program for glibc")
    else:
        yield Check("ok", "format", f"{elf.bits}-bit {elf.machine}, dynamically linked")


def _libraries(path: Path, elf: Elf) -> Iterator[Check]:
    linked, missing = _closure(elf)
    if missing:
        yield Check("error", "libraries", f"not found: {', '.join(sorted(missing))}", "the program does not start here")
    direct = sorted({word for name in linked for soname, word in _GL_LIBRARIES.items() if name.startswith(soname)})
    toolkits = sorted({name.split(".so")[0] for name in linked if name.startswith(_TOOLKITS)})
    named = _names_in(path, [p for name, p in linked.items() if not name.startswith(tuple(_GL_LIBRARIES))])
    opened = sorted(
        {word for name in named for soname, word in _GL_LIBRARIES.items() if name.startswith(soname)} - set(direct)
    )
    if direct:
        yield Check("ok", "graphics", f"linked to {', '.join(direct)}")
    if opened:
        yield Check("ok", "graphics", f"may open at run time: {', '.join(opened)}")
    if toolkits:
        yield Check("ok", "graphics", f"through {', '.join(toolkits)}")
    vulkan = any(name.startswith("libvulkan") for name in (*linked, *named))
    if direct or opened or toolkits:
        if vulkan:
            yield Check("ok", "graphics", "may use Vulkan too")
    elif vulkan:
        yield Check("ok", "graphics", "Vulkan, as far as the file says: recorded, and played again")
    elif "libwayland-client.so.0" in linked:
        yield Check("warning", "graphics", "Wayland and no OpenGL: it seems to draw with the CPU")
    else:
        hint = "it may still load a plug-in that draws; or it starts another program that does"
        yield Check("warning", "graphics", "no sign of OpenGL in the file or its libraries", hint)


def _closure(elf: Elf) -> tuple[dict[str, Path], set[str]]:
    libraries: dict[str, Path] = {}
    missing: set[str] = set()
    todo = [(name, elf) for name in elf.needed]
    while todo:
        name, parent = todo.pop()
        if name in libraries or name in missing:
            continue
        place = _resolve(name, parent, elf)
        if place is None:
            missing.add(name)
            continue
        libraries[name] = place
        library = read_elf(place)
        if library is not None:
            todo += [(needed, library) for needed in library.needed]
    return libraries, missing


def _resolve(name: str, parent: Elf, root: Elf) -> Path | None:
    folders = [
        p.replace("$ORIGIN", str(e.path.resolve().parent)).replace("${ORIGIN}", str(e.path.resolve().parent))
        for e in (parent, root)
        for p in e.run_path
    ]
    folders += [p for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p]
    for folder in folders:
        place = Path(folder) / name
        if place.is_file():
            return place
    cached = _library_cache().get(name)
    if cached is not None:
        return cached
    for folder in ("/lib64", "/usr/lib64", "/lib", "/usr/lib"):
        if (Path(folder) / name).is_file():
            return Path(folder) / name
    return None


@cache
def _library_cache() -> Mapping[str, Path]:
    tool = shutil.which("ldconfig") or "/sbin/ldconfig"
    _, text = output_of([tool, "-p"])
    entries: dict[str, Path] = {}
    for line in text.splitlines():
        name, arrow, place = line.strip().partition(" => ")
        foreign = "x86-64" not in name if platform.machine() == "x86_64" else False
        if arrow and not foreign:
            entries.setdefault(name.split(" ")[0], Path(place))
    return entries


def _names_in(path: Path, libraries: Sequence[Path]) -> set[str]:
    # Names of libraries in the file's data: what a program passes to dlopen has to stand somewhere.
    names: set[str] = set()
    own = [p for p in libraries if not str(p).startswith(("/lib", "/usr/lib"))]
    for place in (path, *own):
        try:
            with place.open("rb") as file:
                text = file.read(_SEARCHED_BYTES)
        except OSError:
            continue
        names |= {match.decode() for match in _NAMES_IN_FILE.findall(text)}
    if names & {"eglGetProcAddress"}:
        names.add("libEGL.so")
    if names & {"glXGetProcAddress", "glXGetProcAddressARB"}:
        names.add("libGL.so")
    return names


def _capabilities(path: Path) -> bool:
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False


def _own_bits() -> int:
    return 64 if sys.maxsize > 2**32 else 32


def _own_machine() -> str:
    return {"x86_64": "x86-64"}.get(platform.machine(), platform.machine())
