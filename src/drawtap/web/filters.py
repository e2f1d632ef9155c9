"""The filter language of the call list, as SQL conditions on the table `calls`.

    texture                     the word stands in the text of the call, in upper or lower case
    "two words"                 so does this text, with its blanks
    glDraw*                     a name with * or ? is the name of a function
    width>=256 mode=GL_LINES    an argument of the call, by name
    duration>1ms frame=3..5     a column of `calls`; durations take ns, us, ms, s, also in ranges
    is:draw                     functions by what they do: draw, clear, upload, readback, frame_end, ...
    changes:blend               calls that changed a state variable with this in its path
    uses:texture=7              draws with this program, texture, buffer, vertex_array or framebuffer
    fails                       queries of the program that returned an error
    redundant                   calls without an effect
    finding:RULE                calls that a rule of the checklist names
    -TERM, A OR B, ( ... )      without, either, together; terms beside each other must all hold
    sql:CONDITION               the rest of the line as it is

A word that the language does not know is a mistake with the words that it knows, never a filter without a result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from drawtap.errors import UsageError, did_you_mean
from drawtap.trace.sql_text import quote, quote_text

COLUMNS = ("seq", "frame", "thread", "context", "duration", "t_start", "payload_bytes")
_TIMES = {"": 1, "ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_USES = {
    "program": "program = {}",
    "vertex_array": "vertex_array = {}",
    "framebuffer": "framebuffer = {}",
    "texture": "list_contains(textures, {})",
    "buffer": "(list_contains(buffers, {0}) OR index_buffer = {0})",
}
_GOOD = {"glGetError": 0, "eglGetError": 12288, "vgGetError": 0}
_ALONE = ("fails", "redundant")
# Tables that cost the same for few calls as for all, and questions of the user's own.
_WHOLE = re.compile(r"\bFROM (findings|redundancy|state|draws)\b|\bsql:.*\b(from|select)\b", re.IGNORECASE | re.DOTALL)
_WORDS = ("is:", "changes:", "uses:", "finding:", "sql:", *_ALONE)
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<open>\() | (?P<close>\)) | (?P<minus>-(?=\S)) | (?P<quoted>"[^"]*") |
      (?P<compare>(?P<left>[A-Za-z_]\w*)(?P<op><=|>=|!=|=|<|>)(?P<right>"[^"]*"|[^\s()]+)) |
      (?P<named>(?P<kind>is|changes|uses|finding):(?P<value>"[^"]*"|[^\s()]+)) |
      (?P<word>[^\s()"]+)
    )""",
    re.VERBOSE,
)
_TRUTHS = {prefix + word: word for prefix in ("", "gl_", "egl_") for word in ("true", "false")}
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?", re.IGNORECASE)
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s)?")
_RANGE = re.compile(rf"{_QUANTITY.pattern}\.\.{_QUANTITY.pattern}")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The vocabulary of a recording: functions with their flags, and by parameter the called functions that have it.

    Each comes with what the parameter's column holds: text, truth (a boolean), or number.
    """

    functions: Mapping[str, frozenset[str]]
    parameters: Mapping[str, tuple[tuple[str, str], ...]]

    @property
    def flags(self) -> frozenset[str]:
        """All flags that functions of the recording have."""
        return frozenset().union(*self.functions.values())


def condition(text: str, vocabulary: Vocabulary, within: range | None = None) -> str:
    """Return the SQL condition that `text` stands for; `true` for an empty one. Raises UsageError for a mistake.

    `within`: the calls that matter. The condition does not leave the others out, but reads less for these.
    """
    head, raw, rest = text.partition("sql:")
    parts = []
    if head.strip():
        parts.append(_Parser(head, vocabulary, within).whole())
    if raw:
        if not rest.strip():
            raise UsageError("sql: has no condition behind it", hint="sql: duration > 1000 AND thread = 0")
        parts.append(f"({rest.strip()})")
    return " AND ".join(parts) or "true"


def in_pieces(text: str, sql: str) -> bool:
    """Tell whether a filter costs hardly more when it runs over a few calls at a time; `sql` is its meaning."""
    return _WHOLE.search(f"{sql} {text[text.find('sql:') :] if 'sql:' in text else ''}") is None


class _Parser:
    def __init__(self, text: str, vocabulary: Vocabulary, within: range | None) -> None:
        self._tokens = [*_tokens(text)]
        self._at = 0
        self._vocabulary = vocabulary
        self._within = within

    def whole(self) -> str:
        """Return the condition of all tokens."""
        condition = self._either()
        if self._at < len(self._tokens):
            raise UsageError("there is a ) without its (", hint='a bracket to look for goes into quotes: "("')
        return condition

    def _either(self) -> str:
        parts = [self._all()]
        while self._is_or():
            self._at += 1
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else "(" + " OR ".join(parts) + ")"

    def _all(self) -> str:
        parts = []
        while self._at < len(self._tokens) and not self._is_or() and not self._tokens[self._at]["close"]:
            parts.append(self._one())
        if not parts:
            raise UsageError("the filter has an empty part", hint="OR and ( ) stand between terms")
        return " AND ".join(parts)

    def _is_or(self) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at]["word"] in ("OR", "|")

    def _one(self) -> str:
        if self._at == len(self._tokens) or self._tokens[self._at]["close"]:
            raise UsageError("a - has no term behind it", hint='a - to look for goes into quotes: "-"')
        token = self._tokens[self._at]
        self._at += 1
        if token["minus"]:
            return f"NOT {self._one()}"
        if token["open"]:
            inner = self._either()
            if self._at == len(self._tokens) or not self._tokens[self._at]["close"]:
                raise UsageError("there is a ( without its )", hint='a bracket to look for goes into quotes: "("')
            self._at += 1
            return f"({inner})"
        if token["compare"]:
            return self._compared(token["left"], token["op"], token["right"].strip('"'))
        if token["named"]:
            return _NAMED[token["kind"]](token["value"].strip('"'), self._vocabulary)
        if token["quoted"]:
            return _in_text(token["quoted"][1:-1])
        return self._word(token["word"])

    def _word(self, word: str) -> str:
        if word == "redundant":
            return "seq IN (SELECT seq FROM redundancy)"
        if word == "fails":
            part = _part(self._within)
            asked = (f'SELECT seq FROM "{name}" WHERE result_value <> {good}{part}' for name, good in _GOOD.items())
            return f"seq IN ({' UNION ALL '.join(asked)})"
        if word.endswith(":") or (":" in word and word.partition(":")[0].isalpha()):
            hint = did_you_mean(word.partition(":")[0] + ":", _WORDS) or "words with a colon: " + " ".join(_WORDS[:5])
            raise UsageError(f"the filter has no word {word!r}", hint=f'{hint}; quotes look for text: "{word}"')
        if "*" in word or "?" in word:
            return f"name GLOB {quote_text(word)}"
        if word in self._vocabulary.functions:
            return f"name = {quote_text(word)}"
        return _in_text(word)

    def _compared(self, left: str, op: str, right: str) -> str:
        if left == "name":
            return f"name {'GLOB' if '*' in right else op} {quote_text(right)}"
        if left in COLUMNS:
            return _column(left, op, right)
        functions = self._vocabulary.parameters.get(left)
        if not functions:
            known = (*COLUMNS, *self._vocabulary.parameters)
            hint = did_you_mean(left, known) or "columns: " + ", ".join(COLUMNS)
            raise UsageError(f"no function that was called has a parameter {left!r}", hint=hint)
        compared = ((f, _value(right, op, kind)) for f, kind in functions)
        part = _part(self._within)
        asked = [f'SELECT seq FROM "{f}" WHERE {quote(left)} {op} {v}{part}' for f, v in compared if v is not None]
        if not asked:
            raise UsageError(f"{left} is no text here, and {right!r} no number", hint=f"{left}=1, {left}>=2")
        return f"seq IN ({' UNION ALL '.join(asked)})"


def _part(within: range | None) -> str:
    return "" if within is None else f" AND seq >= {within.start} AND seq < {within.stop}"


def _value(text: str, op: str, kind: str) -> str | None:
    """Return what a column of a kind is compared with; None where it cannot be compared with this."""
    if _NUMBER.fullmatch(text):
        return text if kind == "number" or op in ("=", "!=") else None  # enumerants have no order
    return {"truth": _TRUTHS.get(text.lower()), "text": quote_text(text)}.get(kind)


def _tokens(text: str) -> Iterator[re.Match[str]]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise UsageError(
                f"the filter cannot be read from {text[at:].strip()!r} on", hint='a " begins and ends text'
            )
        yield match
        at = match.end()


def _column(column: str, op: str, right: str) -> str:
    match = (_RANGE if op in ("=", "!=") else _QUANTITY).fullmatch(right) or _QUANTITY.fullmatch(right)
    parts = match.groups() if match else ()
    units = [unit for unit in parts[1::2] if unit]
    if not parts or (units and column not in ("duration", "t_start")):
        hint = (
            "duration>1.5ms, duration=2us..1ms" if column == "duration" else f"{column}=3, {column}=3..5, {column}>=3"
        )
        raise UsageError(f"{right!r} is no value for {column}", hint=hint)
    # 2..9us: both are microseconds.
    values = [round(float(n) * _TIMES[unit or parts[-1] or ""]) for n, unit in zip(*[iter(parts)] * 2, strict=True)]
    if len(values) == 1:
        return f"{column} {op} {values[0]}"
    return f"{'NOT ' if op == '!=' else ''}({column} BETWEEN {values[0]} AND {values[1]})"


def _is(flag: str, vocabulary: Vocabulary) -> str:
    if flag not in vocabulary.flags:
        hint = did_you_mean(flag, vocabulary.flags) or "here: " + ", ".join(sorted(vocabulary.flags))
        raise UsageError(f"no function of this recording is of the kind {flag!r}", hint=hint)
    return _one_of(name for name, flags in vocabulary.functions.items() if flag in flags)


def _changes(path: str, _: Vocabulary) -> str:
    pattern = "%" + path.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    return f"seq IN (SELECT begin_seq FROM state WHERE path ILIKE {quote_text(pattern)} ESCAPE '\\')"


def _uses(what: str, _: Vocabulary) -> str:
    kind, _equals, name = what.partition("=")
    if kind not in _USES or not name.isdigit():
        hint = did_you_mean(kind, _USES) or "uses:texture=7; " + ", ".join(_USES)
        raise UsageError(f"uses:{what} names no object", hint=hint)
    return f"seq IN (SELECT seq FROM draws WHERE {_USES[kind].format(name)})"


def _finding(rule: str, _: Vocabulary) -> str:
    return f"seq IN (SELECT seq FROM findings WHERE rule = {quote_text(rule)})"


_NAMED: Mapping[str, Callable[[str, Vocabulary], str]] = {
    "is": _is,
    "changes": _changes,
    "uses": _uses,
    "finding": _finding,
}


def _one_of(names: Iterable[str]) -> str:
    return f"name IN ({', '.join(quote_text(name) for name in sorted(names))})"


def _in_text(text: str) -> str:
    return f'contains(lower("call"), {quote_text(text.lower())})'
