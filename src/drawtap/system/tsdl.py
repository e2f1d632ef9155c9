"""Read TSDL, the language of CTF 1.8's metadata.

Source: the Common Trace Format specification 1.8.3, appendix C (grammar) and sections 4 to 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from drawtap.errors import InputError
from drawtap.system import ctftypes

_DEEPEST = 48
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      |(?P<string>"(?:[^"\\]|\\.)*")
      |(?P<char>'(?:[^'\\]|\\.)')
      |(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*)
      |(?P<word>[A-Za-z_]\w*)
      |(?P<mark>\.\.\.|:=|->|[{}()\[\]<>;:,.=*+-])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ORIGINS = {
    ("trace", "packet", "header"): "packet-header",
    ("stream", "packet", "context"): "packet-context",
    ("stream", "event", "header"): "event-record-header",
    ("stream", "event", "context"): "event-record-common-context",
    ("event", "context"): "event-record-specific-context",
    ("event", "fields"): "event-record-payload",
}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


def parse(text: str) -> ctftypes.Metadata:
    """Return what TSDL text describes. Raises InputError with the line where it is broken."""
    return _Parser(text).metadata()


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise InputError(f"metadata, line {line}: {text[at : at + 20]!r} is not TSDL")
        kind = match.lastgroup or ""
        if kind != "space":
            yield _Token(kind, match[0], line)
        line += match[0].count("\n")
        at = match.end()
    yield _Token("end", "", line)


@dataclass
class _Scope:
    """Types by name, as far as they are visible."""

    outer: _Scope | None = None
    names: dict[str, ctftypes.Type] = field(default_factory=dict)

    def find(self, name: str) -> ctftypes.Type | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


class _Parser:
    def __init__(self, text: str) -> None:
        self._all = list(_tokens(text))
        self._at = 0
        self._scope = _Scope()
        self._depth = 0
        self._metadata = ctftypes.Metadata(1)
        self._order()

    def _order(self) -> None:
        # Types may stand before the block that says the byte order.
        texts = [t.text for t in self._all]
        for i, text in enumerate(texts):
            if text == "trace" and texts[i + 1 : i + 2] == ["{"]:
                for j in range(i, len(texts) - 2):
                    if texts[j] == "byte_order" and texts[j + 1] == "=":
                        self._metadata.big = texts[j + 2] in ("be", "network")
                        return

    # ---- tokens ------------------------------------------------------------------------------------------------

    @property
    def _now(self) -> _Token:
        return self._all[self._at]

    def _next(self) -> _Token:
        token = self._all[self._at]
        if token.kind != "end":
            self._at += 1
        return token

    def _is(self, text: str) -> bool:
        return self._now.text == text and self._now.kind in ("mark", "word")

    def _accept(self, text: str) -> bool:
        if self._is(text):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            self._fail(f"expected {text!r} and found {self._now.text!r}")

    def _fail(self, what: str) -> None:
        raise InputError(f"metadata, line {self._now.line}: {what}")

    def _word(self) -> str:
        if self._now.kind != "word":
            self._fail(f"expected a name and found {self._now.text!r}")
        return self._next().text

    # ---- blocks ------------------------------------------------------------------------------------------------

    def metadata(self) -> ctftypes.Metadata:
        while self._now.kind != "end":
            self._top()
        return self._metadata

    def _top(self) -> None:
        word = self._now.text
        block = self._all[min(self._at + 1, len(self._all) - 1)].text == "{"
        if block and word in ("trace", "env", "clock", "stream", "event", "callsite"):
            self._next()
            getattr(self, f"_{word}")()
            self._accept(";")
        elif word in ("typealias", "typedef", "struct", "variant", "enum") or not block:
            self._declaration()
        else:
            self._fail(f"unknown block {word!r}")

    def _block(self) -> Iterator[tuple[str, object]]:
        """Yield the entries of a block: name and value, types for `:=`."""
        self._expect("{")
        while not self._accept("}"):
            if self._now.kind == "end":
                self._fail("a block has no end")
            if self._now.text in ("typealias", "typedef") or (
                self._now.text in ("struct", "variant", "enum") and self._now.kind == "word"
            ):
                self._declaration()
                continue
            name = self._path()
            if self._accept("="):
                yield name, self._value()
            elif self._accept(":="):
                yield name, self._type_reference()
            else:
                self._fail(f"expected '=' or ':=' behind {name!r}")
            self._accept(";")

    def _path(self) -> str:
        name = self._next().text if self._now.kind == "string" else self._word()
        while self._accept("."):
            name += "." + self._word()
        return name

    def _value(self) -> object:
        token = self._now
        if token.kind == "string":
            text = ""
            while self._now.kind == "string":
                text += _unquoted(self._next().text)
            return text
        if token.kind == "number" or token.text in "+-":
            return self._number()
        if token.kind == "char":
            self._next()
            return ord(_unquoted(token.text)[0])
        return self._path()

    def _number(self) -> int:
        sign = 1
        while self._now.text in ("+", "-") and self._now.kind == "mark":
            sign = -sign if self._next().text == "-" else sign
        if self._now.kind == "char":
            return sign * ord(_unquoted(self._next().text)[0])
        if self._now.kind != "number":
            self._fail(f"expected a number and found {self._now.text!r}")
        text = self._next().text.rstrip("uUlL")
        base = 16 if text[:2].lower() == "0x" else 8 if len(text) > 1 and text[0] == "0" else 10
        try:
            return sign * int(text, base)
        except ValueError:
            self._fail(f"{text!r} is no number")
            return 0

    def _trace(self) -> None:
        with_scope = self._enter()
        for name, value in self._block():
            if name == "uuid":
                self._metadata.uuid = str(value)
            elif name == "packet.header":
                self._metadata.packet_header = self._structure(value)
        self._leave(with_scope)

    def _env(self) -> None:
        for name, value in self._block():
            self._metadata.environment[name] = str(value)

    def _clock(self) -> None:
        said: dict[str, object] = dict(self._block())
        name = str(said.get("name", "clock"))
        frequency = _int(said.get("freq"), 1_000_000_000)
        if frequency <= 0:
            self._fail("a clock has no frequency")
        seconds, cycles = _int(said.get("offset_s"), 0), _int(said.get("offset"), 0)
        self._metadata.clocks[name] = ctftypes.ClockClass(
            name,
            frequency,
            seconds * 1_000_000_000 + cycles * 1_000_000_000 // frequency,
            str(said["uuid"]) if "uuid" in said else None,
            str(said.get("absolute", "0")).lower() in ("1", "true"),
            str(said.get("description", "")),
        )

    def _stream(self) -> None:
        with_scope = self._enter()
        stream = ctftypes.StreamClass()
        for name, value in self._block():
            if name == "id":
                stream.id = _int(value, 0)
            elif name == "packet.context":
                stream.packet_context = self._structure(value)
            elif name == "event.header":
                stream.event_header = self._structure(value)
            elif name == "event.context":
                stream.event_context = self._structure(value)
        self._leave(with_scope)
        present = self._metadata.streams.get(stream.id)
        if present is not None:
            stream.events = present.events
        self._metadata.streams[stream.id] = stream

    def _event(self) -> None:
        with_scope = self._enter()
        event, stream_id = ctftypes.EventClass(0, ""), 0
        for name, value in self._block():
            if name == "id":
                event.id = _int(value, 0)
            elif name == "name":
                event.name = str(value)
            elif name == "stream_id":
                stream_id = _int(value, 0)
            elif name == "context":
                event.context = self._structure(value)
            elif name == "fields":
                event.payload = self._structure(value)
        self._leave(with_scope)
        event.name = event.name or f"event_{event.id}"
        self._metadata.streams.setdefault(stream_id, ctftypes.StreamClass(stream_id)).events[event.id] = event

    def _callsite(self) -> None:
        for _ in self._block():
            pass

    def _structure(self, value: object) -> ctftypes.Structure:
        if not isinstance(value, ctftypes.Structure):
            self._fail("expected a struct")
            raise AssertionError
        return value

    def _enter(self) -> _Scope:
        before = self._scope
        self._scope = _Scope(before)
        self._depth += 1
        if self._depth > _DEEPEST:
            self._fail("types are nested too deeply")
        return before

    def _leave(self, before: _Scope) -> None:
        self._scope = before
        self._depth -= 1

    # ---- types -------------------------------------------------------------------------------------------------

    def _declaration(self) -> None:
        """`typealias TYPE := NAME;`, `typedef TYPE NAME;`, `struct NAME {...};`"""
        if self._accept("typealias"):
            kind = self._type_reference()
            self._expect(":=")
            words = []
            while not self._is(";") and self._now.kind != "end":
                words.append(self._next().text)
            self._scope.names[" ".join(words)] = kind
        elif self._accept("typedef"):
            kind = self._type()
            name, kind = self._declarator(kind)
            self._scope.names[name] = kind
        else:
            self._type()
        self._accept(";")

    def _type_reference(self) -> ctftypes.Type:
        kind = self._type()
        # C's declarators without a name: struct {...}, an alias, an alias with [n] behind.
        while self._is("["):
            kind = self._array(kind)
        return kind

    def _type(self) -> ctftypes.Type:
        word = self._now.text
        if self._now.kind != "word":
            self._fail(f"expected a type and found {word!r}")
        self._accept("const")
        word = self._now.text
        if word == "struct":
            return self._struct()
        if word == "variant":
            return self._variant()
        if word == "enum":
            return self._enum()
        if word in ("integer", "floating_point", "string") and self._all[self._at + 1].text in ("{", ";", "_"):
            return self._plain()
        if word == "string":
            self._next()
            return ctftypes.String()
        return self._alias()

    def _plain(self) -> ctftypes.Type:
        word = self._next().text
        said: dict[str, object] = {}
        if self._is("{"):
            for name, value in self._block():
                said[name] = value
        big = self._big(said)
        if word == "string":
            return ctftypes.String()
        if word == "floating_point":
            size = _int(said.get("exp_dig"), 8) + _int(said.get("mant_dig"), 24)
            if size not in (32, 64):
                self._fail(f"a floating-point number of {size} bits")
            return ctftypes.Real(size, self._alignment(said, size), big)
        size = _int(said.get("size"), 0)
        if not 0 < size <= 64:
            self._fail(f"an integer of {size} bits")
        clock = str(said.get("map", ""))
        match = re.fullmatch(r"clock\.(\w+)\.value", clock)
        return ctftypes.Integer(
            size,
            self._alignment(said, size),
            str(said.get("signed", "0")).lower() in ("1", "true"),
            big,
            str(said.get("encoding", "none")).lower() in ("utf8", "ascii", "utf-8"),
            match[1] if match else None,
        )

    def _big(self, said: Mapping[str, object]) -> bool:
        order = str(said.get("byte_order", "native"))
        return self._metadata.big if order == "native" else order in ("be", "network")

    def _alignment(self, said: Mapping[str, object], size: int) -> int:
        align = _int(said.get("align"), 1 if size % 8 else 8)
        if align < 1 or align & (align - 1) or align > 128:
            self._fail(f"an alignment of {align} bits")
        return align

    def _alias(self) -> ctftypes.Type:
        words: list[str] = []
        while self._now.kind == "word":
            # The last word of a field is its name: a longer alias wins only where it is known.
            longer = " ".join([*words, self._now.text])
            if words and self._scope.find(" ".join(words)) is not None and self._scope.find(longer) is None:
                break
            words.append(self._next().text)
            if self._now.text == "*" and self._scope.find(" ".join([*words, "*"])) is not None:
                words.append(self._next().text)
        name = " ".join(words)
        alias = self._scope.find(name)
        if alias is None and len(words) > 1:
            self._at -= 1  # the last one was a name
            name = " ".join(words[:-1])
            alias = self._scope.find(name)
        if alias is None:
            self._fail(f"there is no type {name!r}")
            raise AssertionError
        return alias

    def _struct(self) -> ctftypes.Type:
        self._expect("struct")
        name = self._word() if self._now.kind == "word" and not self._is("align") else ""
        if not self._is("{"):
            return self._tagged(f"struct {name}")
        before = self._enter()
        self._expect("{")
        fields: list[tuple[str, ctftypes.Type]] = []
        while not self._accept("}"):
            if self._now.kind == "end":
                self._fail("a struct has no end")
            fields += self._fields()
        self._leave(before)
        align = 1
        if self._accept("align"):
            self._expect("(")
            align = self._number()
            self._expect(")")
            if align < 1 or align & (align - 1) or align > 128:
                self._fail(f"an alignment of {align} bits")
        made = ctftypes.Structure(tuple(fields), align)
        if name:
            self._scope.names[f"struct {name}"] = made
        return made

    def _fields(self) -> list[tuple[str, ctftypes.Type]]:
        if self._is("typealias") or self._is("typedef"):
            self._declaration()
            return []
        kind = self._type()
        if self._accept(";"):  # a named type that is only declared
            return []
        fields_ = []
        while True:
            name, whole = self._declarator(kind)
            fields_.append((name, whole))
            if not self._accept(","):
                break
        self._expect(";")
        return fields_

    def _declarator(self, kind: ctftypes.Type) -> tuple[str, ctftypes.Type]:
        while self._accept("*") or self._accept("const"):
            pass
        name = self._word()
        sizes = []
        while self._is("["):
            sizes.append(self._length())
        for length in reversed(sizes):  # the last brackets are the innermost
            kind = _array_of(kind, length)
        return name, kind

    def _array(self, kind: ctftypes.Type) -> ctftypes.Type:
        return _array_of(kind, self._length())

    def _length(self) -> int | ctftypes.Reference:
        self._expect("[")
        length = self._number() if self._now.kind == "number" else self._reference()
        self._expect("]")
        return length

    def _reference(self) -> ctftypes.Reference:
        path = self._path().split(".")
        for words, origin in _ORIGINS.items():
            if tuple(path[: len(words)]) == words and len(path) > len(words):
                return ctftypes.Reference(tuple(path[len(words) :]), origin)
        return ctftypes.Reference(tuple(path))

    def _tagged(self, name: str) -> ctftypes.Type:
        tagged = self._scope.find(name)
        if tagged is None:
            self._fail(f"there is no type {name!r}")
            raise AssertionError
        return tagged

    def _variant(self) -> ctftypes.Type:
        self._expect("variant")
        name = self._word() if self._now.kind == "word" else ""
        tag = ctftypes.Reference(())
        if self._accept("<"):
            tag = self._reference()
            self._expect(">")
        if not self._is("{"):
            tagged = self._tagged(f"variant {name}")
            return replace(tagged, tag=tag) if isinstance(tagged, ctftypes.Variant) and tag.path else tagged
        before = self._enter()
        self._expect("{")
        options: list[ctftypes.Option] = []
        while not self._accept("}"):
            if self._now.kind == "end":
                self._fail("a variant has no end")
            options += [ctftypes.Option(n, t) for n, t in self._fields()]
        self._leave(before)
        made = ctftypes.Variant(tag, tuple(options))
        if name:
            self._scope.names[f"variant {name}"] = made
        return made

    def _enum(self) -> ctftypes.Type:
        self._expect("enum")
        name = self._word() if self._now.kind == "word" else ""
        base: ctftypes.Type | None = None
        if self._accept(":"):
            base = self._type()
        if not self._is("{"):
            return self._tagged(f"enum {name}")
        if base is None:
            base = self._scope.find("int")
        if not isinstance(base, ctftypes.Integer):
            self._fail("an enum stands on no integer")
            raise AssertionError
        made = replace(base, labels=tuple(self._labels()))
        if name:
            self._scope.names[f"enum {name}"] = made
        return made

    def _labels(self) -> Iterator[tuple[int, int, str]]:
        self._expect("{")
        value = 0
        while not self._accept("}"):
            label = _unquoted(self._next().text) if self._now.kind == "string" else self._word()
            last = None
            if self._accept("="):
                value = self._number()
                if self._accept("..."):
                    last = self._number()
            yield value, value if last is None else last, label
            value = (value if last is None else last) + 1
            if not self._accept(",") and not self._is("}"):
                self._fail("expected ',' between the labels of an enum")


def _array_of(kind: ctftypes.Type, length: int | ctftypes.Reference) -> ctftypes.Type:
    if isinstance(kind, ctftypes.Integer) and kind.size == 8 and kind.text and kind.align in (1, 2, 4, 8):
        return ctftypes.Text(length)
    return ctftypes.Array(kind, length)


def _int(value: object, default: int) -> int:
    if value is None:
        return default
    try:
        return int(str(value), 0)
    except ValueError:
        return default


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1], flags=re.DOTALL)
