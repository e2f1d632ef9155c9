"""Compile generated sources to a module, once per content.

The only place that runs a compiler. Modules and objects of the runtime lie in a cache folder, each named by the hash of
everything that went in: sources, flags, the compiler's own version. The cache can be deleted at any time.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from drawtap.errors import DrawtapError, UnavailableError
from drawtap.instrument.generate import RARE
from drawtap.parts import cache_folder
from drawtap.scratch import Scratch

COMPILE_FLAGS = (
    # In C++20, <atomic> brings strings and streams along, which take longer to read than what a source has itself.
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-fvisibility=hidden",
    "-fno-plt",
    "-Wall",
    "-Wno-unused-parameter",
)
LINK_FLAGS = ("-shared", "-Wl,--as-needed", "-Wl,-Bsymbolic", "-Wl,--no-undefined", "-ldl", "-lpthread")


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler as a command prefix and the text it identifies itself with."""

    command: tuple[str, ...]
    version: str

    @property
    def is_zig(self) -> bool:
        """True for the wheel's compiler: its linker knows fewer flags, and its C++ library is always linked in."""
        return "ziglang" in self.command


class CompileError(DrawtapError):
    """Report what the compiler said; `output` is its whole text."""

    exit_code = 1

    def __init__(self, message: str, output: str) -> None:
        super().__init__(f"{message}\n{output.rstrip()}" if output.strip() else message)
        self.output = output


def find_compiler() -> Compiler:
    """Return the C++ compiler to use: $CXX, c++, g++, clang++, or the `ziglang` package.

    Raises UnavailableError when there is none.
    """
    hint = "install g++ (apt install g++), or the wheel: pip install 'drawtap[compiler]'"
    return _first_of("C++", hint, "CXX", "c++", "g++", "clang++")


def find_c_compiler() -> Compiler:
    """Return the C compiler to use: $CC, cc, gcc, clang, or the `ziglang` package.

    Raises UnavailableError when there is none.
    """
    hint = "install gcc (apt install gcc), or pip install 'drawtap[compiler]'"
    return _first_of("C", hint, "CC", "cc", "gcc", "clang")


def _first_of(language: str, hint: str, variable: str, *names: str) -> Compiler:
    # The words of the variable, then these, then the wheel's, which takes the first name too.
    said = os.environ.get(variable, "").split()
    for command in (said, *([name] for name in names), [sys.executable, "-m", "ziglang", names[0]]):
        if not command or (len(command) == 1 and not shutil.which(command[0])):
            continue
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return Compiler(tuple(command), done.stdout)
    raise UnavailableError(f"no {language} compiler found", hint=hint)


def compile_c_program(folder: Path, program: Path) -> None:
    """Compile and link the C source that `drawtap export -f c` wrote to `folder` as `program`.

    Raises CompileError with what the compiler said, UnavailableError where there is none.
    """
    compiler = find_c_compiler()
    with Scratch() as work:

        def one(unit: Path) -> str:
            made = f"{work}/{unit.name}.o"
            flags = ["-std=c99", "-O0", "-w"] if unit.suffix == ".c" else []
            _run([*compiler.command, *flags, f"-I{folder}", f"-Wa,-I{folder}", "-c", str(unit), "-o", made])
            return made

        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            objects = list(pool.map(one, [*sorted(folder.glob("*.c")), *sorted(folder.glob("*.S"))]))
        _run([*compiler.command, *objects, "-lEGL", "-ldl", "-lm", "-o", str(program)])


def module_folder() -> Path:
    """Return the folder of compiled modules: $DRAWTAP_CACHE, or drawtap/modules below $XDG_CACHE_HOME."""
    if os.environ.get("DRAWTAP_CACHE"):
        return Path(os.environ["DRAWTAP_CACHE"]) / "modules"
    return cache_folder("modules")


# The generated source without a word of a user's.
OURS = ("tables.cc",)
# For code of a user's: the C++ library, linked in and kept to itself so that the program's own copy is not met.
USER_COMPILE_FLAGS = (
    *("-std=c++20", "-O1"),
    *("-fexceptions", "-frtti", "-fthreadsafe-statics", "-Wno-unused-function"),
)
USER_LINK_FLAGS = ("-lstdc++", "-static-libstdc++", "-static-libgcc", "-Wl,--exclude-libs,ALL")


def compile_module(
    name: str,
    files: Mapping[str, str],
    runtime: Sequence[Path],
    include: Sequence[Path],
    headers: Mapping[str, str] | None = None,
    *,
    own: Sequence[Path] = (),
    own_include: Sequence[Path] = (),
    user_runtime: Sequence[Path] = (),
    announce: Callable[[], None] | None = None,
) -> Path:
    """Return the folder with libdrawtap-NAME.so and NAME.sig, compiling them unless the cache has them.

    `files` are generated sources by name, `headers` generated headers. `runtime` are sources that see these headers and
    those in `include` alone: modules share their objects. `own` are further sources, which see all headers, also those
    in `own_include`. `user_runtime`: sources of the runtime that may use the C++ library, as code of a user's may.
    `announce` is called before a compilation, which takes its time.
    Raises CompileError with the compiler's words, UnavailableError without a compiler.
    """
    compiler = find_compiler()
    flags = [*COMPILE_FLAGS, *_machine_flags()]
    user_flags = [*flags, *(USER_COMPILE_FLAGS if user_runtime else ())]
    link_flags = [*LINK_FLAGS, *(USER_LINK_FLAGS if user_runtime and not compiler.is_zig else ())]
    headers = headers or {}
    folders = [*include, *own_include]
    sources = [*runtime, *user_runtime, *own]
    key = _content_hash(compiler, [*user_flags, *link_flags], {**headers, **files}, sources, folders)
    folder = module_folder() / key[:32]
    library = f"libdrawtap-{name}.so"

    def kept(flags: Sequence[str], units: Sequence[Path]) -> Iterator[Callable[[], Path]]:
        place = module_folder() / "objects" / _content_hash(compiler, flags, headers, [], include)[:32]
        _write_once(place, headers)
        return (partial(_kept_object, compiler, unit, place, flags, [place, *include]) for unit in units)

    with _locked(folder):
        if (folder / library).exists():
            return folder
        if announce:
            announce()
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as scratch:
            work = Path(scratch)
            for file, text in {**headers, **files}.items():
                (work / file).write_text(text)
            generated = [work / f for f in files if f.endswith((".cc", ".S"))]
            ours = [unit for unit in generated if unit.name in OURS]
            theirs = [*(unit for unit in generated if unit not in ours), *own]
            jobs: list[Callable[[], Path]] = [
                *(partial(_object, compiler, unit, work, user_flags, [work, *folders]) for unit in theirs),
                *(partial(_object, compiler, unit, work, flags, [work, *include]) for unit in ours),
                *kept(flags, runtime),
                *kept(user_flags, user_runtime),
            ]
            _run([*compiler.command, *map(str, _parallel(jobs)), *link_flags, "-o", str(work / library)])
            folder.mkdir(parents=True, exist_ok=True)
            for sig in work.glob("*.sig"):
                shutil.copyfile(sig, folder / f"{name}.sig")
            _make_preloadable(compiler, work, folder / library)
            (work / library).replace(folder / library)
    return folder


def _make_preloadable(compiler: Compiler, work: Path, module: Path) -> None:
    # As native/preload/preload.c is for the tap. Where the linker cannot do it, programs preload the module itself.
    nothing, made = work / "preload.cc", module.with_suffix(".preload.so")
    nothing.write_text("")
    flags = ["-shared", "-fPIC", "-nostdlib", f"-Wl,--auxiliary,{module.name}", "-Wl,-rpath,$ORIGIN"]
    with contextlib.suppress(CompileError):
        _run([*compiler.command, *flags, str(nothing), "-o", str(made)])


def _machine_flags() -> list[str]:
    # A uprobe on a five-byte nop may write below the stack pointer: wrappers must not use the red zone.
    return ["-mno-red-zone"] if platform.machine() in ("x86_64", "AMD64") else []


def _content_hash(
    compiler: Compiler, flags: Sequence[str], files: Mapping[str, str], runtime: Sequence[Path], include: Sequence[Path]
) -> str:
    digest = hashlib.sha256(repr((compiler, list(flags))).encode())
    for name in sorted(files):
        digest.update(name.encode() + b"\0" + files[name].encode())
    kinds = ("*.h", "*.hpp", "*.inc", "user/*.h")
    headers = [path for folder in include for kind in kinds for path in sorted(folder.glob(kind))]
    for path in [*runtime, *headers]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _object(compiler: Compiler, unit: Path, folder: Path, flags: Sequence[str], include: Sequence[Path]) -> Path:
    # A user's source may be called as a generated one is, or as one of another project.
    made = folder / f"{unit.stem}-{hashlib.sha256(str(unit).encode()).hexdigest()[:16]}.o"
    used = [f for f in flags if not f.startswith("-std=")] if unit.suffix == ".S" else list(flags)
    if unit.name.startswith(RARE):
        used.append("-Og")
    _run([*compiler.command, *used, *(f"-I{path}" for path in include), "-c", str(unit), "-o", str(made)])
    return made


def _kept_object(compiler: Compiler, unit: Path, folder: Path, flags: Sequence[str], include: Sequence[Path]) -> Path:
    # Nearly all that a small module takes to build goes into the runtime, which is the same for every module.
    target = folder / f"{unit.stem}-{hashlib.sha256(unit.read_bytes()).hexdigest()[:32]}.o"
    with _locked(target):
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=folder, prefix="building-") as scratch:
                _object(compiler, unit, Path(scratch), flags, include).replace(target)
    return target


def _write_once(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        if not (folder / name).exists():  # a compiler may be reading it
            with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
                file.write(text)
            Path(file.name).replace(folder / name)


def _parallel(jobs: Sequence[Callable[[], Path]]) -> list[Path]:
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        futures = [pool.submit(job) for job in jobs]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = [word for word in command[1:4] if word in ("-m", "ziglang", "c++", "cc")]
        name = " ".join([Path(command[0]).name, *words])
        raise CompileError(f"{name} failed", done.stderr + done.stdout)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
