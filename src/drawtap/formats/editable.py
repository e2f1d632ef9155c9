"""The text of calls that can be edited and read back: `drawtap export --editable`, `drawtap import x.txt --base TRACE`.

A line is `number name(parameter = value, ...) = result`, as `drawtap list` prints it, with nothing cut short: arrays
stand whole, other content as `blob(hash)` or `hex(bytes)`. Changed values change the call, a line that is gone drops
it, a line without a number is a new call; `file("picture.raw")` is the content of a file beside the text, `# ...` a
remark. The reader core finds the changed lines; only those are read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from drawtap.errors import InputError, UsageError
from drawtap.trace.edit import Blob, Editor, Saved

if TYPE_CHECKING:
    from drawtap.trace.trace import Trace

_MARK = "# drawtap: calls to be edited"
_ABOUT = re.compile(r"# recording ([0-9a-f-]+), calls (\d+) to before (\d+) of (\d+)")
_FLAGS = 1 | 32
_BOOLEANS = {
    "TRUE": 1,
    "GL_TRUE": 1,
    "EGL_TRUE": 1,
    "VG_TRUE": 1,
    "FALSE": 0,
    "GL_FALSE": 0,
    "EGL_FALSE": 0,
    "VG_FALSE": 0,
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_CLOSING = {"(": ")", "{": "}"}


@dataclass(frozen=True, slots=True)
class CallText:
    """A call as it is written: values are still text."""

    name: str
    values: dict[str, str]
    result: str | None


@dataclass(frozen=True, slots=True)
class ShaderText:
    """The text of a shader that is still to be translated: `language` is glsl or spirv, `stage` a suffix of glslang."""

    language: str
    stage: str
    text: str


def write_editable(trace: Trace, seqs: range, file: IO[str]) -> None:
    """Write calls so that `read_editable` can read them back."""
    uuid = trace.info["uuid"]
    file.write(f"{_MARK}; then drawtap import THIS --base {trace.path.name} -o NEW.dtap\n")
    file.write(f"# recording {uuid}, calls {seqs.start} to before {seqs.stop} of {len(trace.calls)}\n")
    file.flush()
    trace.write_text(file.fileno(), seqs=seqs, flags=_FLAGS)


def is_editable(path: Path) -> bool:
    """Tell whether a file is a text that `write_editable` wrote."""
    with path.open("rb") as file:
        return file.read(len(_MARK)) == _MARK.encode()


def read_editable(text: Path, base: Trace, output: Path) -> Saved:
    """Write `base` with what was changed in `text`.

    Raises InputError for a text of another recording, UsageError with the line for what cannot be read.
    """
    content = text.read_bytes()
    about = _ABOUT.search(content[:4096].decode(errors="replace"))
    if about is None:
        raise InputError(
            f"{text} does not say which calls it is about", hint="drawtap export --editable writes such texts"
        )
    if about[1] != base.info["uuid"]:
        raise InputError(f"{text} was made from another recording than {base.path}")
    changes = base.core.text_changes(int(about[2]), int(about[3]), content)
    editor = Editor(base)
    for first, end in changes["dropped"]:
        editor.drop(range(first, end))
    for row in changes["changed"]:
        with _Line(text, row["line"]):
            _change(editor, row["seq"], row["old"], row["new"], text.parent)
    for row in changes["inserted"]:
        with _Line(text, row["line"]):
            call = parse(row["text"])
            values = {name: value(word, text.parent) for name, word in call.values.items() if word != "?"}
            if call.result is not None and call.result != "?":
                values["result"] = value(call.result, text.parent)
            editor.insert(row["before"], call.name, **values)
    return editor.save(output, operation=f"import {text.name}")


class _Line:
    """Say in which line it was."""

    def __init__(self, text: Path, number: int) -> None:
        self._where = f"{text}, line {number}"

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UsageError):
            raise UsageError(f"{self._where}: {error.message}", hint=error.hint) from None


def _change(editor: Editor, seq: int, old: str, new: str, folder: Path) -> None:
    before, after = parse(old), parse(new)
    changed = {name: word for name, word in after.values.items() if before.values.get(name) != word}
    missing = [name for name in before.values if name not in after.values]
    if before.name == after.name and missing:
        raise UsageError(
            f"{after.name} lacks {', '.join(missing)}", hint="a value is changed, not taken away: NULL or 0"
        )
    if after.result is not None and after.result != before.result:
        changed["result"] = after.result
    values = {name: value(word, folder) for name, word in changed.items()}
    if before.name != after.name:
        editor.replace(seq, after.name, **values)
    else:
        editor.set(seq, **values)


def parse(text: str) -> CallText:
    """Read `name(a = 1, b = GL_X) = result`. Raises UsageError where it is no call."""
    line = re.sub(r"\s+\[[^\]\"]*\]$", "", text.strip())
    match = re.match(r"([A-Za-z_]\w*)\s*\(", line)
    if match is None:
        raise UsageError(f"{_short(text)} is no call", hint="name(parameter = value, ...) = result")
    end = _closing(line, match.end() - 1)
    values: dict[str, str] = {}
    for item in _items(line[match.end() : end]):
        name, equals, word = item.partition("=")
        if not equals:
            raise UsageError(f"{_short(item)} names no parameter", hint="parameter = value")
        values[name.strip()] = word.strip()
    rest = line[end + 1 :].strip()
    if rest and not rest.startswith("="):
        raise UsageError(f"{_short(rest)} stands behind the call")
    return CallText(match[1], values, rest[1:].strip() if rest else None)


def value(word: str, folder: Path = Path()) -> object:
    """Return what a written value means: a number, a name, text, a list, `Blob`, bytes, None for NULL.

    `folder` is where `file("...")` is looked for. `glsl("shader.frag")`, `glsl("frag", "text")` and `spirv("text")` are
    a `ShaderText`.
    """
    if word == "NULL":
        return None
    if word.upper() in _BOOLEANS:
        return _BOOLEANS[word.upper()]
    if word.startswith('"'):
        return _text(word)
    if word.startswith("{") and word.endswith("}"):
        return list(_elements(word[1:-1]))
    if match := re.fullmatch(r"blob\(([0-9a-fA-F]{32})\)", word):
        return Blob(match[1].lower())
    if match := re.fullmatch(r"hex\(([0-9a-fA-F\s]*)\)", word):
        return bytes.fromhex(match[1])
    if match := re.fullmatch(r'file\(("(?:[^"\\]|\\.)*")\)', word):
        return _file(folder / _text(match[1]))
    if match := re.fullmatch(r"(glsl|spirv)\((.*)\)", word, re.DOTALL):
        return _shader(match[1], [_text(item) for item in _items(match[2])], folder)
    if "…" in word or word.startswith("blob(") or word == "?" or not word:
        raise UsageError(f"{_short(word)} is cut short or unknown", hint="export --editable writes values whole")
    return _number(word)


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _shader(language: str, words: list[str], folder: Path) -> ShaderText:
    if language == "spirv" and len(words) == 1:
        return ShaderText("spirv", "", words[0])
    if language == "glsl" and len(words) == 2:
        return ShaderText("glsl", words[0], words[1])
    if language == "glsl" and len(words) == 1:
        path = folder / words[0]
        return ShaderText("glsl", path.suffix[1:], _file(path).decode("utf-8", errors="replace"))
    raise UsageError(f"{language}(...) has other words", hint='glsl("x.frag"), glsl("frag", "text") or spirv("text")')


def _number(word: str) -> object:
    word = re.sub(r"\s*/\*.*\*/$", "", word)
    try:
        return int(word, 0)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        return word  # a name, or names joined by |


def _elements(text: str) -> Iterator[object]:
    for item in _items(text):
        name, equals, word = item.partition("=")
        if equals and re.fullmatch(r"\s*[A-Za-z_0-9]\w*\s*", name):  # of an attribute list
            yield value(name.strip())
            yield value(word.strip())
        else:
            yield value(item)


def _items(text: str) -> Iterator[str]:
    start, at = 0, 0
    while at < len(text):
        c = text[at]
        if c == '"':
            at = _closing_quote(text, at)
        elif c in _CLOSING:
            at = _closing(text, at)
        elif c == ",":
            yield text[start:at].strip()
            start = at + 1
        at += 1
    if text[start:].strip():
        yield text[start:].strip()


def _closing(text: str, at: int) -> int:
    depth = 0
    while at < len(text):
        c = text[at]
        if c == '"':
            at = _closing_quote(text, at)
        elif c in "({":
            depth += 1
        elif c in ")}":
            depth -= 1
            if not depth:
                return at
        at += 1
    raise UsageError(f"{_short(text)} has a bracket that is not closed")


def _closing_quote(text: str, at: int) -> int:
    at += 1
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == '"':
            return at
        at += 1
    raise UsageError(f"{_short(text)} has a quotation mark that is not closed")


def _text(word: str) -> str:
    if _closing_quote(word, 0) != len(word) - 1:
        raise UsageError(f"{_short(word)} is no text")

    def replaced(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code[1:], 16)) if code[0] == "x" else _ESCAPES.get(code, code)

    return re.sub(r"\\(x[0-9a-fA-F]{2}|.)", replaced, word[1:-1], flags=re.DOTALL)


def _short(text: str) -> str:
    return repr(text if len(text) < 60 else text[:57] + "...")
