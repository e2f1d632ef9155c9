"""Count what a shader's text asks for, without a compiler; and, where glslang is installed, the instructions of SPIR-V.

It counts the text after a small preprocessor (conditions, macros). Every operator and every call of a built-in function
is one operation, for numbers and vectors alike; both sides of a branch count; a loop whose bounds are plain integers
counts as often as it runs, any other once, and then `unbounded` is more than 0. Functions count where they are called.
That is an order among shaders, not a time: drivers fold, vectorise and schedule what they will.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from drawtap.scratch import Scratch

GLSLANG = "glslangValidator"
_SUFFIXES = {
    "vertex": "vert", "fragment": "frag", "geometry": "geom", "tessellation control": "tesc",
    "tessellation evaluation": "tese", "compute": "comp",
}  # fmt: skip
_TIMEOUT_S = 20


@dataclass(frozen=True, slots=True)
class Cost:
    """The work of one run of a shader's main: `operations` (texture fetches among them), `fetches` of textures and
    images, `branches` and `loops` in the text, `unbounded` loops that count once though they may run more often, and
    `discards`."""

    operations: int = 0
    fetches: int = 0
    branches: int = 0
    loops: int = 0
    unbounded: int = 0
    discards: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*(a + b for a, b in zip(self._cells(), other._cells(), strict=True)))

    def times(self, count: int) -> Cost:
        """Return what `count` runs ask for; what is of the text stays."""
        return Cost(
            self.operations * count, self.fetches * count, self.branches, self.loops, self.unbounded, self.discards
        )

    def _cells(self) -> tuple[int, ...]:
        return (self.operations, self.fetches, self.branches, self.loops, self.unbounded, self.discards)


# ---- preprocessor ---------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"[A-Za-z_]\w*|(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)(?:lf|LF|[fFuU])?"
    r"|<<=|>>=|\+\+|--|<=|>=|==|!=|&&|\|\||\^\^|<<|>>|[-+*/%&|^]=|##|."
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MOST_EXPANSIONS = 200_000


@dataclass(frozen=True)
class _Macro:
    parameters: tuple[str, ...] | None
    body: tuple[str, ...]


def _tokens(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(text) if not token.isspace()]


def _plain(source: str) -> str:
    # A comment is a space; lines that go on are one.
    return _COMMENT.sub(lambda m: "\n" * m.group().count("\n") or " ", source.replace("\\\n", " "))


def language(source: str) -> tuple[int, bool]:
    """Return the version of GLSL times 100, and whether it is that of OpenGL ES. Where no line says so, a shader that
    sets precisions is ES 1.00, another GLSL 1.10."""
    text = _plain(source)
    said = re.search(r"^\s*#\s*version\s+(\d+)(?:\s+(\w+))?", text, re.MULTILINE)
    if said is None:
        es = re.search(r"\bprecision\b|\b(high|medium|low)p\b|\bGL_ES\b", text) is not None
        return (100, True) if es else (110, False)
    return int(said[1]), said[2] == "es" or said[1] == "100"


def preprocessed(source: str) -> list[str]:
    """Return the words and signs of a shader after its preprocessor: comments, conditions and macros are gone."""
    text = _plain(source)
    version, es = language(source)
    macros: dict[str, _Macro] = {"__VERSION__": _Macro(None, (str(version),))}
    if es:
        macros |= {"GL_ES": _Macro(None, ("1",)), "GL_FRAGMENT_PRECISION_HIGH": _Macro(None, ("1",))}
    tokens: list[str] = []
    pending: list[str] = []
    taken: list[tuple[bool, bool]] = []  # of each open condition: this part is taken, some part was
    for line in text.split("\n"):
        if not line.lstrip().startswith("#"):
            if all(now for now, _ in taken):
                pending += _tokens(line)
            continue
        tokens += _expanded(pending, macros)
        pending = []
        _directive(_tokens(line.lstrip()[1:]), line, macros, taken)
    return tokens + _expanded(pending, macros)


def _directive(words: list[str], line: str, macros: dict[str, _Macro], taken: list[tuple[bool, bool]]) -> None:
    word = words[0] if words else ""
    active = all(now for now, _ in taken)
    if word in ("ifdef", "ifndef"):
        there = len(words) > 1 and words[1] in macros
        yes = active and there == (word == "ifdef")
        taken.append((yes, yes))
    elif word == "if":
        yes = active and _condition(words[1:], macros)
        taken.append((yes, yes))
    elif word == "elif" and taken:
        _, some = taken.pop()
        yes = not some and all(now for now, _ in taken) and _condition(words[1:], macros)
        taken.append((yes, some or yes))
    elif word == "else" and taken:
        _, some = taken.pop()
        taken.append((not some and all(now for now, _ in taken), True))
    elif word == "endif" and taken:
        taken.pop()
    elif word == "define" and active and len(words) > 1:
        name = words[1]
        # Parameters only where the bracket follows the name at once.
        if re.search(rf"define\s+{re.escape(name)}\(", line) and ")" in words:
            close = words.index(")")
            parameters = tuple(w for w in words[3:close] if w != ",")
            macros[name] = _Macro(parameters, tuple(words[close + 1 :]))
        else:
            macros[name] = _Macro(None, tuple(words[2:]))
    elif word == "undef" and active and len(words) > 1:
        macros.pop(words[1], None)


def _condition(words: Sequence[str], macros: Mapping[str, _Macro]) -> bool:
    plain: list[str] = []
    i = 0
    while i < len(words):
        if words[i] == "defined":
            bracket = i + 1 < len(words) and words[i + 1] == "("
            name = words[i + 2 if bracket else i + 1] if i + (2 if bracket else 1) < len(words) else ""
            plain.append("1" if name in macros else "0")
            i += 4 if bracket else 2
        else:
            plain.append(words[i])
            i += 1
    try:
        return _Expression(_expanded(plain, macros)).value() != 0
    except (ValueError, ZeroDivisionError):
        return False


class _Expression:
    """An integer expression of the preprocessor; a word that is no macro is 0."""

    _LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"),
               ("+", "-"), ("*", "/", "%"))  # fmt: skip

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)
        self._at = 0

    def value(self) -> int:
        number = self._level(0)
        if self._at != len(self._words):
            raise ValueError("words are left")
        return number

    def _level(self, level: int) -> int:
        if level == len(self._LEVELS):
            return self._one()
        left = self._level(level + 1)
        while self._at < len(self._words) and self._words[self._at] in self._LEVELS[level]:
            sign = self._words[self._at]
            self._at += 1
            left = _calculated(left, sign, self._level(level + 1))
        return left

    def _one(self) -> int:
        if self._at >= len(self._words):
            raise ValueError("it ends early")
        word = self._words[self._at]
        self._at += 1
        if word == "(":
            number = self._level(0)
            self._at += 1
            return number
        if word in ("!", "-", "+", "~"):
            value = self._one()
            return {"!": int(not value), "-": -value, "+": value, "~": ~value}[word]
        if word[0].isdigit():
            return int(word.rstrip("uU"), 0) if word.rstrip("uU") in ("0", "00") or word[0] != "0" else int(word, 16)
        return 0


def _calculated(a: int, sign: str, b: int) -> int:
    match sign:
        case "||":
            return int(bool(a) or bool(b))
        case "&&":
            return int(bool(a) and bool(b))
        case "/":
            return int(a / b)
        case "%":
            return a - b * int(a / b)
        case "==" | "!=" | "<" | ">" | "<=" | ">=":
            return int({"==": a == b, "!=": a != b, "<": a < b, ">": a > b, "<=": a <= b, ">=": a >= b}[sign])
        case "<<" | ">>":
            return a << min(b, 64) if sign == "<<" else a >> min(b, 64)
        case _:
            return {"|": a | b, "^": a ^ b, "&": a & b, "+": a + b, "-": a - b, "*": a * b}[sign]


def _expanded(words: Sequence[str], macros: Mapping[str, _Macro]) -> list[str]:
    tokens: list[str] = []
    # The words still to be looked at, last first, with the macros that each came from: no macro is used in itself.
    rest = [(word, frozenset[str]()) for word in reversed(words)]
    for _ in range(_MOST_EXPANSIONS):
        if not rest:
            return tokens
        word, within = rest.pop()
        macro = macros.get(word)
        if macro is None or word in within:
            tokens.append(word)
            continue
        body: list[str] = list(macro.body)
        if macro.parameters is not None:
            if not rest or rest[-1][0] != "(":
                tokens.append(word)
                continue
            values = _arguments(rest)
            named = dict(zip(macro.parameters, values, strict=False))
            body = [w for part in body for w in named.get(part, [part])]
        rest += [(part, within | {word}) for part in reversed(body)]
    return tokens + [word for word, _ in reversed(rest)]


def _arguments(rest: list[tuple[str, frozenset[str]]]) -> list[list[str]]:
    rest.pop()
    values: list[list[str]] = [[]]
    depth = 0
    while rest:
        word = rest.pop()[0]
        if word == ")" and not depth:
            break
        if word == "," and not depth:
            values.append([])
            continue
        depth += (word in "([") - (word in ")]")
        values[-1].append(word)
    return values


# ---- counting -------------------------------------------------------------------------------------------------------

_OPERATORS = frozenset(
    "+ - * / % < > <= >= == != && || ^^ ! ~ & | ^ << >> ++ -- += -= *= /= %= &= |= ^= <<= >>=".split()  # noqa: SIM905
)
_WORDS = frozenset(
    "if else for while do return break continue discard switch case default layout struct void".split()  # noqa: SIM905
)
_FETCH = re.compile(r"(texture|shadow)(?!Size|Query)\w*$|texelFetch\w*$|imageLoad$|imageStore$|imageAtomic\w+$")
_TYPE = re.compile(
    r"(?:[biud]?vec[234]|d?mat[234](?:x[234])?|float|int|uint|bool|double|[iu]?(?:sampler|image)\w*|void)$"
)


def cost(source: str) -> Cost:
    """Return what one run of the shader's `main` asks for; nothing where it has none."""
    return _Functions(preprocessed(source)).cost("main", frozenset())


class _Functions:
    """The functions of a shader, as words."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._bodies: dict[str, tuple[int, int]] = {}
        self._known: dict[str, Cost] = {}
        self._constants: dict[str, int] = {}
        depth = 0
        for i, word in enumerate(words):
            if word == "{":
                if depth == 0 and i and words[i - 1] == ")":
                    name = self._name(i - 1)
                    if name:
                        self._bodies[name] = (i + 1, self._close(i, "{", "}"))
                depth += 1
            elif word == "}":
                depth -= 1
            elif word == "const":
                declaration = words[i + 1 : i + 6]
                if (
                    len(declaration) == 5
                    and (declaration[0], declaration[2], declaration[4]) == ("int", "=", ";")
                    and declaration[3].isdigit()
                ):
                    self._constants[declaration[1]] = int(declaration[3])

    def _name(self, close: int) -> str:
        depth = 0
        for i in range(close, -1, -1):
            depth += (self._words[i] == ")") - (self._words[i] == "(")
            if not depth:
                return self._words[i - 1] if i else ""
        return ""

    def _close(self, start: int, opening: str, closing: str) -> int:
        depth = 0
        for i in range(start, len(self._words)):
            depth += (self._words[i] == opening) - (self._words[i] == closing)
            if not depth:
                return i
        return len(self._words)

    def cost(self, name: str, within: frozenset[str]) -> Cost:
        """Return what a function asks for. GLSL has no recursion; what calls itself all the same counts once."""
        if name in self._known:
            return self._known[name]
        if name not in self._bodies or name in within:
            return Cost()
        begin, end = self._bodies[name]
        sum_ = self._known[name] = self._part(begin, end, within | {name})
        return sum_

    def _part(self, i: int, end: int, within: frozenset[str]) -> Cost:
        sum_ = Cost()
        words = self._words
        while i < end:
            word = words[i]
            if word in ("for", "while") and words[i + 1 : i + 2] == ["("]:
                head = self._close(i + 1, "(", ")")
                last = self._statement(head + 1, end)
                runs = self._runs(i + 2, head) if word == "for" else None
                inside = self._part(i + 2, head, within) + self._part(head + 1, last, within)
                sum_ += inside.times(runs or 1) + Cost(loops=1, unbounded=int(runs is None))
                i = last
                continue
            sum_ += self._word(i, within)
            i += 1
        return sum_

    def _word(self, i: int, within: frozenset[str]) -> Cost:
        word, words = self._words[i], self._words
        after = words[i + 1] if i + 1 < len(words) else ""
        if word in ("if", "switch") or word == "?":
            return Cost(operations=1, branches=1)
        if word == "do":
            return Cost(loops=1, unbounded=1)
        if word == "discard":
            return Cost(discards=1)
        if word in _OPERATORS:
            return Cost(operations=1)
        if after != "(" or word in _WORDS or not (word[0].isalpha() or word[0] == "_"):
            return Cost()
        if word in self._bodies:
            return self.cost(word, within)
        if _FETCH.match(word):
            return Cost(operations=1, fetches=1)
        # A constructor puts together, it calculates nothing.
        return Cost() if _TYPE.match(word) else Cost(operations=1)

    def _statement(self, i: int, end: int) -> int:
        """Return where the statement that begins at `i` is over."""
        words = self._words
        if i < end and words[i] == "{":
            return min(self._close(i, "{", "}") + 1, end)
        if i < end and words[i] in ("for", "while", "if") and words[i + 1 : i + 2] == ["("]:
            last = self._statement(self._close(i + 1, "(", ")") + 1, end)
            return self._statement(last + 1, end) if last < end and words[last] == "else" else last
        while i < end and words[i] != ";":
            i += 1
        return min(i + 1, end)

    def _runs(self, begin: int, end: int) -> int | None:
        """Return how often `for` runs: `int i = A; i < B; i++`, with numbers and `const int`; None: it is not known."""
        parts: list[list[str]] = [[]]
        for word in self._words[begin:end]:
            if word == ";":
                parts.append([])
            else:
                parts[-1].append(word)
        if len(parts) != 3 or len(parts[1]) != 3 or "=" not in parts[0]:
            return None
        name = parts[0][parts[0].index("=") - 1]
        start, (variable, sign, limit) = parts[0][parts[0].index("=") + 1 :], parts[1]
        first, last = self._number(start[0] if len(start) == 1 else ""), self._number(limit)
        step = self._step(name, parts[2])
        if variable != name or first is None or last is None or not step:
            return None
        last += {"<=": 1, ">=": -1}.get(sign, 0)
        if sign not in ("<", "<=", ">", ">=") or (step > 0) != (sign in ("<", "<=")):
            return None
        return max(0, -(-(last - first) // step))

    def _number(self, word: str) -> int | None:
        plain = word.rstrip("uU")
        if re.fullmatch(r"\d+(\.0*)?", plain):
            return int(float(plain))
        return self._constants.get(word)

    def _step(self, name: str, words: Sequence[str]) -> int | None:
        if sorted(words) in (sorted([name, "++"]), sorted([name, "--"])):
            return 1 if "++" in words else -1
        if len(words) == 3 and words[0] == name and words[1] in ("+=", "-="):
            step = self._number(words[2])
            return step if step is None or words[1] == "+=" else -step
        return None


# ---- glslang --------------------------------------------------------------------------------------------------------

_MAGIC = 0x07230203
_IMAGE_FIRST, _IMAGE_LAST = 87, 99  # OpImageSampleImplicitLod to OpImageWrite
_FUNCTION, _FUNCTION_END = 54, 56
NOTHING = frozenset({55, 59, 248, 8, 317})  # instructions of SPIR-V: parameters, variables, labels, lines


@dataclass(frozen=True, slots=True)
class Spirv:
    """Instructions of a module as glslang writes it, all functions, not optimised; `why` it could not be made."""

    instructions: int | None = None
    fetches: int | None = None
    why: str = ""


def spirv(source: str, stage: str) -> Spirv:
    """Return how many SPIR-V instructions glslang makes of a shader, if it is installed.

    It takes GLSL 3.30 and ES 3.10 upwards. Older versions, and shaders that it rejects, have none, and `why` says so.
    """
    version, es = language(source)
    if version < (310 if es else 330):
        return Spirv(
            why=f"GLSL{' ES' if es else ''} {version / 100:.2f}: SPIR-V begins with {'3.10' if es else '3.30'}"
        )
    program = shutil.which(GLSLANG)
    if program is None:
        return Spirv(why=f"{GLSLANG} is not installed (Debian: glslang-tools)")
    suffix = _SUFFIXES.get(stage)
    if suffix is None:
        return Spirv(why="the kind of shader is not known")
    with Scratch() as folder:
        file, module = Path(folder) / f"shader.{suffix}", Path(folder) / "module"
        file.write_text(source, encoding="utf-8")
        try:
            done = subprocess.run(
                [program, "-G", "--amb", "--aml", "-S", suffix, "-o", str(module), str(file)],
                capture_output=True, text=True, timeout=_TIMEOUT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Spirv(why=f"{GLSLANG} did not end in {_TIMEOUT_S} s")
        if done.returncode or not module.exists():
            said = [line for line in done.stdout.splitlines() if line.startswith("ERROR")]
            why = said[0].replace(str(file), "").removeprefix("ERROR: ").strip(" :") if said else "glslang made nothing"
            return Spirv(why=why)
        return counted(module.read_bytes())


def counted(module: bytes) -> Spirv:
    """Return the instructions in the functions of a SPIR-V module (SPIR-V specification, 2.3)."""
    words = struct.unpack(f"<{len(module) // 4}I", module[: len(module) // 4 * 4])
    if len(words) < 5 or words[0] != _MAGIC:
        return Spirv(why="it is no SPIR-V module")
    instructions = fetches = 0
    inside = False
    at = 5
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        if not length:
            return Spirv(why="the module is broken")
        if opcode == _FUNCTION:
            inside = True
        elif opcode == _FUNCTION_END:
            inside = False
        elif inside and opcode not in NOTHING:
            instructions += 1
            fetches += _IMAGE_FIRST <= opcode <= _IMAGE_LAST
        at += length
    return Spirv(instructions, fetches)
