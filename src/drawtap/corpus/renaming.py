"""Rename what a program called things: identifiers and comments of shaders, labels, markers, what drivers answered.

An identifier of GLSL gets the same new name everywhere: in all shaders, and in the calls that look up uniforms,
attributes, blocks and varyings by their names. Words of the language stay. A replay proves that the recording still
draws the same: a word of the language that is missing here would show there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from drawtap.corpus import vulkan_renaming
from drawtap.corpus.names import Names
from drawtap.corpus.vulkan_renaming import WITH_TEXT
from drawtap.errors import InputError
from drawtap.spec.registry import load_api
from drawtap.trace.sql_text import quote

if TYPE_CHECKING:
    from drawtap.trace.edit import Editor
    from drawtap.trace.trace import Trace

_SOURCES = re.compile(r"gl(ShaderSource|CreateShaderProgramv)(ARB|EXT)?")
_NAMES = re.compile(
    r"gl(BindAttribLocation|BindFragDataLocation|Get\w*Location|Get\w*Ind(ex|ices)|GetActive|GetProgramResource"
    r"|GetUniformIndices|GetTransformFeedbackVarying|TransformFeedbackVaryings|GetVaryingLocation|ActiveVarying)"
)
_WORDS_OF_APIS = re.compile(
    r"\w*GetProcAddress\w*|vkGet\w+ProcAddr|vkEnumerate\w+|dtap\w*"
)  # functions whose texts name functions; the tap's own
_NOT_TEXT = re.compile(r"gl(ProgramBinary|ShaderBinary|GetProgramBinary)\w*")
_ASSEMBLY = re.compile(r"glProgramStringARB|glLoadProgramNV|glGetProgramString\w*")
_ABOUT_CALLS = 4  # columns of a table of structures before the columns of its members
_MODULE = "VkShaderModuleCreateInfo"
_INCLUDES = re.compile(r"glNamedStringARB|glCompileShaderIncludeARB")


def rename(editor: Editor) -> Names:
    """Change all texts of a recording's calls in an editor. Raises InputError for programs that are no text."""
    trace, names = editor.trace, Names()
    texts = _texts(trace)
    for function in _functions(trace):
        if _NOT_TEXT.fullmatch(function) and not function.startswith("glGet"):
            raise InputError(f"{function}: binary programs have names in them that cannot be changed",
                             hint="the level identity keeps programs")  # fmt: skip
        if _INCLUDES.fullmatch(function):
            raise InputError(f"{function}: shaders that include others are not renamed", hint="the level identity")
    for function, parameters in texts.items():
        change = _change_of(function, names)
        if change is None:
            continue
        for event in editor.find(f"name = '{function}'"):
            for name, outputs in parameters.items():
                _apply(event.values, name, change if not outputs or _NAMES.match(function) else names.text)
            if _SOURCES.fullmatch(function) and event.values.get("length") is not None:
                event.values["length"] = None  # the texts have their ends
    vulkan_renaming.rename(editor, names)
    return names


def _apply(values: object, name: str, change: Callable[[str], str]) -> None:
    old = values[name]  # type: ignore[index]
    if isinstance(old, str) and old:
        new: object = change(old)
    elif isinstance(old, list) and old:
        new = [change(one) for one in old]
    else:
        return
    if new != old:
        values[name] = new  # type: ignore[index]


def _change_of(function: str, names: Names) -> Callable[[str], str] | None:
    if _WORDS_OF_APIS.fullmatch(function):
        return None
    if _SOURCES.fullmatch(function):
        return names.source
    if _ASSEMBLY.fullmatch(function):
        return lambda text: re.sub(r"#[^\n]*", "", text)
    return names.name if _NAMES.match(function) else names.text


def _functions(trace: Trace) -> Iterator[str]:
    for (name,) in trace.sql("SELECT DISTINCT name FROM calls ORDER BY name").fetchall():
        yield str(name)


def _texts(trace: Trace) -> dict[str, dict[str, bool]]:
    """Return the parameters with text of functions that are called, and whether the driver fills them in."""
    by_function: dict[str, dict[str, bool]] = {}
    called = set(_functions(trace))
    rows = trace.sql(
        "SELECT function, name, direction FROM params WHERE element IN ('char', 'strings') ORDER BY function, position"
    )
    for function, name, direction in rows.fetchall():
        if function in called:
            by_function.setdefault(str(function), {})[str(name)] = direction != "in" or name == "result"
    return by_function


def _members(trace: Trace) -> Iterator[tuple[str, str]]:
    """Yield structures of a recording with their members that are text, as far as the registry tells these apart."""
    recorded = [str(row["name"]) for row in trace.table("structures")]
    known = load_api("vk").structs if recorded else {}
    for structure in recorded:
        columns = trace.sql(f"DESCRIBE {quote(structure)}").fetchall()
        members = {m.name: m.type.base == "char" for m in known[structure].members} if structure in known else {}
        for name, type_ in ((str(row[0]), str(row[1])) for row in columns[_ABOUT_CALLS:]):
            if type_.startswith("VARCHAR") and members.get(name, True):
                yield structure, name


def _of_modules(trace: Trace) -> Iterator[tuple[str, str]]:
    """Yield the texts in modules of SPIR-V, with the instruction of each: sources, names, strings."""
    if all(row["name"] != _MODULE for row in trace.table("structures")):
        return
    for (code,) in trace.sql(f"SELECT DISTINCT pCode FROM {_MODULE} WHERE len(pCode) > 5").fetchall():
        at = 5  # behind the head
        while at < len(code):
            length, operation = code[at] >> 16, code[at] & 0xFFFF
            if not length:
                break  # no module that makes sense
            name, first = WITH_TEXT.get(operation, ("", length))
            text = b"".join(word.to_bytes(4, "little") for word in code[at + first : at + length])
            if text.rstrip(b"\0"):
                yield f"SPIR-V.{name}", text.partition(b"\0")[0].decode(errors="replace")
            at += length


def left(trace: Trace) -> Mapping[str, tuple[str, ...]]:
    """Return every text that stands in the calls of a recording.

    Keys are FUNCTION.PARAMETER, STRUCTURE.MEMBER and SPIR-V.INSTRUCTION.
    """
    by_place: dict[str, set[str]] = {}
    for structure, member in _members(trace):
        column, place = quote(member), f"{structure}.{member}"
        for (value,) in trace.sql(f"SELECT DISTINCT {column} FROM {quote(structure)}").fetchall():
            values = value if isinstance(value, list) else [value]
            by_place.setdefault(place, set()).update(t for t in values if isinstance(t, str) and t)
    for place, text in _of_modules(trace):
        by_place.setdefault(place, set()).update([text] if text else [])
    for function, parameters in _texts(trace).items():
        for name in parameters:
            # Programs ask for the names of extensions by the ten thousands: no call by itself.
            for (value,) in trace.sql(f"SELECT DISTINCT {quote(name)} FROM {quote(function)}").fetchall():
                values = value if isinstance(value, list) else [value]
                by_place.setdefault(f"{function}.{name}", set()).update(t for t in values if isinstance(t, str) and t)
    return {place: tuple(sorted(texts)) for place, texts in sorted(by_place.items()) if texts}
