"""Rename what a program of Vulkan called things: texts in structures, and in modules of SPIR-V.

They stand in the middle of contents, so every new text has as many bytes as the old one. An identifier of a shader gets
the same new name in all modules, and an entry point in the pipelines that name it.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from drawtap.errors import InputError
from drawtap.trace.sql_text import quote

if TYPE_CHECKING:
    from drawtap.corpus.names import Names
    from drawtap.trace.edit import Editor
    from drawtap.trace.trace import Trace

#: Instructions of SPIR-V with text, by number: the name, and the word at which the text begins.
WITH_TEXT = {
    2: ("OpSourceContinued", 1), 3: ("OpSource", 4), 4: ("OpSourceExtension", 1), 5: ("OpName", 2),
    6: ("OpMemberName", 3), 7: ("OpString", 2), 15: ("OpEntryPoint", 3), 330: ("OpModuleProcessed", 1),
    5632: ("OpDecorateString", 3), 5633: ("OpMemberDecorateString", 4),
}  # fmt: skip
_MAGIC, _HEAD = 0x07230203, 5
_SOURCES = frozenset(("OpSource", "OpSourceContinued"))
_IDENTIFIERS = frozenset(("OpName", "OpMemberName", "OpDecorateString", "OpMemberDecorateString"))
_OF_API = re.compile(r"(?:VK|SPV|GL)_\w+")  # extensions, layers
_ENABLED = re.compile(r"\w+\.ppEnabled(?:Extension|Layer)Names")
_CODE = frozenset(("VkShaderModuleCreateInfo.pCode", "VkShaderCreateInfoEXT.pCode"))
_ENTRY = re.compile(r"\w+ShaderStageCreateInfo\w*\.pName|VkShaderCreateInfoEXT\.pName")
# Bytes of a program's own, or of a driver's, that no replay needs.
_BLANK = re.compile(
    r"VkPipelineCacheCreateInfo\.pInitialData|VkDebug\w+ObjectTagInfoEXT\.pTag|VkPipelineExecutableInternal\w+\.pData"
)
_ANSWERS = {"vkGetPipelineCacheData": "pData", "vkGetShaderInfoAMD": "pInfo"}  # binary as well
_BINARIES = re.compile(r"vkCreatePipelineBinaries\w*|vkCreateCu(?:da)?Module\w*|vkGetShaderBinaryDataEXT")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_SHORT = 2  # letters of an identifier that says nothing


class InPlace:
    """New texts of the same number of bytes; equal texts get equal ones."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._given: dict[bytes, bytes] = {}
        self._numbers: Counter[int] = Counter()

    def text(self, text: bytes) -> bytes:
        """Return what stands for a text that only people read."""
        old = text.decode(errors="replace")
        if _OF_API.fullmatch(old):
            return text
        new = self._names.text(old)
        short = new.replace("ext-", "")
        fitting = next((one for one in (new, short) if len(one) <= len(text)), "x" * len(text))
        return fitting.encode().ljust(len(text), b"-")

    def name(self, text: bytes) -> bytes:
        """Return the new name of something that is looked up by its whole name: an entry point.

        Raises InputError where there are more of one length than new names.
        """
        if len(text) <= _SHORT or self._names.is_kept(text.decode(errors="replace")):
            return text
        if text not in self._given:
            number, digits = self._numbers[len(text)], ""
            self._numbers[len(text)] += 1
            for _ in range(len(text) - 1):
                number, digit = divmod(number, len(_DIGITS))
                digits = _DIGITS[digit] + digits
            if number:
                raise InputError(f"there are too many names of {len(text)} letters", hint="the level identity")
            self._given[text] = f"i{digits}".encode()
        return self._given[text]

    def identifiers(self, text: bytes) -> bytes:
        """Return a text with new names for the words in it."""
        plain = bytes(byte if byte < 0x80 else ord("_") for byte in text)
        return re.sub(rb"[A-Za-z_]\w*", lambda match: self.name(match[0]), plain)

    def module(self, code: bytes) -> bytes:
        """Return a module of SPIR-V with new names and without sources. Raises InputError for what is none."""
        made = bytearray(code)
        for name, at, length in texts(code):
            text = code[at : at + length]
            if name in _SOURCES:
                new = bytes(byte if byte == ord("\n") else ord(" ") for byte in text)
            elif name == "OpEntryPoint":
                new = self.name(text)
            else:
                new = self.identifiers(text) if name in _IDENTIFIERS else self.text(text)
            made[at : at + length] = new
        return bytes(made)

    def member(self, name: str, value: bytes, is_text: bool) -> bytes:
        """Return what a member of a structure becomes, STRUCTURE.MEMBER by name."""
        if name in _CODE:
            return self.module(value)
        if not is_text:
            return bytes(len(value)) if _BLANK.fullmatch(name) else value
        if _ENABLED.fullmatch(name):
            return value
        return self.name(value) if _ENTRY.fullmatch(name) else self.text(value)


def texts(code: bytes) -> Iterator[tuple[str, int, int]]:
    """Yield the texts of a module of SPIR-V: instruction, place and bytes. Raises InputError for what is none."""
    words = struct.unpack(f"<{len(code) // 4}I", code[: len(code) // 4 * 4])
    if len(words) < _HEAD or words[0] != _MAGIC:
        raise InputError(
            "a shader is no SPIR-V of this byte order: its names cannot be changed", hint="the level identity"
        )
    at = _HEAD
    while at < len(words):
        length, operation = words[at] >> 16, words[at] & 0xFFFF
        if not length or length > len(words) - at:
            raise InputError("a module of SPIR-V is cut off: its names cannot be changed", hint="the level identity")
        name, first = WITH_TEXT.get(operation, ("", length))
        if first < length:
            begin = (at + first) * 4
            text = code[begin : (at + length) * 4].partition(b"\0")[0]
            if text:
                yield name, begin, len(text)
        at += length


def rename(editor: Editor, names: Names) -> None:
    """Change all texts in structures of a recording's calls. Raises InputError for programs that are no SPIR-V."""
    trace, made = editor.trace, InPlace(names)
    for (function,) in trace.sql("SELECT DISTINCT name FROM calls WHERE api = 'vk' ORDER BY name").fetchall():
        if _BINARIES.fullmatch(str(function)):
            raise InputError(f"{function}: binary programs have names in them that cannot be changed",
                             hint="the level identity keeps programs")  # fmt: skip
        if parameter := _ANSWERS.get(str(function)):
            for event in editor.find(f"name = '{function}'"):
                if isinstance(old := event.values[parameter], bytes):
                    event.values[parameter] = bytes(len(old))
    by_parameter: dict[tuple[str, str], dict[int, list[tuple[str, int, int, bool]]]] = {}
    for seq, function, parameter, members in trace.core.plain_members():
        by_parameter.setdefault((function, parameter), {})[seq] = members
    for (function, parameter), calls in by_parameter.items():
        contents = _contents(trace, function, parameter)
        changed: dict[bytes, bytes] = {}
        for seq, members in calls.items():
            content = contents(seq)
            if content not in changed:
                new = bytearray(content)
                for name, at, length, is_text in members:
                    new[at : at + length] = made.member(name, content[at : at + length], is_text)
                changed[content] = bytes(new)
            if changed[content] != content:
                editor.set(seq, **{parameter: changed[content]})


def _contents(trace: Trace, function: str, parameter: str) -> Callable[[int], bytes]:
    """Return what tells the bytes of a parameter by call."""
    columns = ", ".join(quote(parameter + suffix) for suffix in ("_blob", "_data"))
    rows = {row[0]: row[1:] for row in trace.sql(f"SELECT seq, {columns} FROM {quote(function)}").fetchall()}

    def content(seq: int) -> bytes:
        blob, data = rows[seq]
        return bytes(data) if data is not None else trace.core.blob(str(blob))

    return content
