"""Load native parts that have a C ABI, as `native/core/border.h` makes them.

Between them and Python cross only C structures, text with an owner and Arrow C streams. A function that fails returns a
DT_E_* code and leaves a sentence behind for its thread: here it raises.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_uint64, c_void_p
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeAlias, cast

from drawtap.errors import ExhaustedError, InputError, QueryError, UnavailableError
from drawtap.trace.memory import exhausted

_E_CANCELLED, _E_MEMORY, _E_ARGUMENT = 5, 4, 3  # of DT_E_* in core.h
_CAPSULE_NAME = b"arrow_array_stream"  # capsules keep the pointer: it must live for ever

Signature: TypeAlias = tuple[object, ...]  # the types of a function's arguments, of ctypes
#: The way to hand out text: three arguments at the end of a function, for its place, its length and its owner.
TEXT: Signature = (POINTER(c_void_p), POINTER(c_uint64), POINTER(c_void_p))


class Cancelled(KeyboardInterrupt):
    """Say that an operation was stopped by somebody's `cancel`."""


class Library(ctypes.CDLL):
    """A native part whose functions are all called `{prefix}_...`.

    `coded` are the functions that return a code; `plain` the others, with the types that they return. Where text is
    handed out, `free` frees its owner; `streams`: there are functions that fill one.
    """

    def __init__(
        self,
        path: Path,
        prefix: str,
        coded: Mapping[str, Signature],
        plain: Mapping[str, tuple[object, Signature]],
        *,
        free: str | None = None,
        streams: bool = True,
        hint: str = "is libzstd1 installed?",
    ) -> None:
        try:
            super().__init__(str(path))
        except OSError as error:
            raise UnavailableError(f"{path} cannot be loaded: {error}", hint=hint) from None
        for name, arguments in coded.items():
            self._declare(name, c_int, arguments).errcheck = cast(Any, self._checked)
        for name, (result, arguments) in plain.items():
            self._declare(name, result, arguments)
        self._last_error = self._declare(f"{prefix}_last_error", c_char_p, ())
        self._free = None if free is None else self._declare(free, None, (c_void_p,))
        if streams:
            self._new_stream = self._declare(f"{prefix}_new_stream", c_void_p, ())
            self._free_stream = self._declare(f"{prefix}_free_stream", None, (c_void_p,))
            self._release_capsule = ctypes.cast(getattr(self, f"{prefix}_release_capsule"), c_void_p)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("__"):
                raise
            hint = "make build makes the parts that make demo leaves out"
            raise UnavailableError(
                f"{Path(self._name).name} was built for reading alone: it lacks {name}", hint=hint
            ) from None

    def _declare(self, name: str, result: object, arguments: Signature) -> ctypes._NamedFuncPointer:
        function = cast("ctypes._NamedFuncPointer", getattr(self, name))
        function.restype = cast("type[ctypes._CDataType] | None", result)
        function.argtypes = cast("Sequence[type[ctypes._CDataType]]", arguments)
        return function

    def _checked(self, code: int, _function: object, _arguments: object) -> int:
        if code:
            raise_coded(code, cast(bytes, self._last_error()))
        return code

    def text(self, function: Callable[..., object], *arguments: object) -> bytes:
        """Return the text that a function whose last arguments are `TEXT` hands out."""
        at, length, owner = c_void_p(), c_uint64(), c_void_p()
        function(*arguments, byref(at), byref(length), byref(owner))
        return self.take(at, length, owner)

    def take(self, at: c_void_p, length: c_uint64, owner: c_void_p) -> bytes:
        """Return what was handed out, and free it."""
        assert self._free is not None, "a library that hands text out says what frees it"
        try:
            return ctypes.string_at(at, length.value) if length.value else b""
        finally:
            self._free(owner)

    def stream(self, fill: Callable[..., object], *arguments: object) -> object:
        """Return what a function whose last argument is a stream puts into it, as a capsule "arrow_array_stream"."""
        stream = self._new_stream()
        try:
            fill(*arguments, stream)
        except BaseException:
            self._free_stream(stream)
            raise
        new = ctypes.pythonapi.PyCapsule_New
        new.argtypes = (c_void_p, c_char_p, c_void_p)
        new.restype = ctypes.py_object
        return new(stream, _CAPSULE_NAME, self._release_capsule)


def raise_coded(code: int, said: bytes) -> NoReturn:
    """Raise what a code stands for: Cancelled, MemoryError, QueryError (a wrong argument) or InputError."""
    message = said.decode(errors="replace")
    if code == _E_CANCELLED:
        raise Cancelled(message)
    if code == _E_MEMORY:
        raise MemoryError(message)
    if code == _E_ARGUMENT:
        raise QueryError(message)
    full = exhausted(InputError(message))
    raise InputError(message) if full is None else ExhaustedError(message, hint=full.hint)


def stream_pointer(capsule: object) -> int:
    """Return where the stream of a capsule "arrow_array_stream" stands."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.argtypes = (ctypes.py_object, c_char_p)
    pointer_of.restype = c_void_p
    return cast(int, pointer_of(capsule, _CAPSULE_NAME))


class Handle:
    """Something that is open in a native part until it is closed or forgotten."""

    #: The function that closes the object, the object's kind, and the advice for a closed object.
    CLOSE: ClassVar[str]
    WHAT: ClassVar[str]
    HINT: ClassVar[str] = "open it again, or stay inside its `with` block"

    def __init__(self, library: Library, opener: Callable[..., object], *arguments: object) -> None:
        self._lib = library
        handle = c_void_p()
        opener(*arguments, byref(handle))
        self._handle: c_void_p | None = handle

    @property
    def handle(self) -> c_void_p:
        """The handle for the C functions. Raises InputError where it is closed."""
        if self._handle is None:
            raise InputError(f"{self.WHAT} is closed", hint=self.HINT)
        return self._handle

    @property
    def is_open(self) -> bool:
        """True until it is closed."""
        return self._handle is not None

    def check_open(self) -> None:
        """Raise InputError where it is closed."""
        _ = self.handle

    def close(self) -> None:
        """Let go of it; streams that are still read keep what they need."""
        handle, self._handle = self._handle, None
        if handle is not None:
            getattr(self._lib, self.CLOSE)(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()
