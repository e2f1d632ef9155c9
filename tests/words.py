"""Plain English, as a tool can see it: sentences of the pages, the helps, the docstrings, the messages, the comments.

`python tests/words.py [FILE ...]` prints what is wrong with them.
"""

from __future__ import annotations

import ast
import functools
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]
MOST_WORDS = 30
#: Sentences that need a second reading: why, and how they look.
PATTERNS = {
    "who says, who asks?": re.compile(r"\b(?:is|are|was|were|be|been|being) (?:told|said|asked)\b", re.IGNORECASE),
    "give the number": re.compile(r"\bso (?:many|much)\b(?! (?:that|as)\b)", re.IGNORECASE),
    "repeat the noun": re.compile(
        r"\b(?:that|those|the ones?) of\b(?= (?:the|a|an|all|its|our|other|this|each|draw)\b)"
    ),
    "a clause as subject": re.compile(r"^(?:What|Whatever|Who|Whoever|Which|Whether|How|That which)\b(?!.*\?$)"),
    "begin with the actor": re.compile(r"^Of (?!course)"),
    "it, that, one: name them": re.compile(r"(?:\b(?:it|one|that|those|such)\b.*){5}", re.IGNORECASE),
}
#: A string with one of these words is a sentence, unless it is code: what is printed, not a list of names.
_PROSE = re.compile(r"\b(?:a|an|the|is|are|was|were|of|that|what|who|how)\b", re.IGNORECASE)
_CODE = re.compile(r"[{};]$|<\w|\b(?:SELECT|FROM|CASE WHEN)\b|#include|\bgl_|=>", re.MULTILINE)
_FEWEST_WORDS = 5
#: Literals of C++ that follow each other are one string.
_LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')
#: Strings of C++ and JavaScript, where two slashes begin no comment, and the comments of both.
_TOKENS = re.compile(
    r"""(?P<string>R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`"""
    r"""|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)*'|(?:(?<=[(=:,] )|(?<=\())/(?![/*])(?:[^/\\\n]|\\.)+/)"""
    r"""|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)""",
    re.DOTALL,
)
#: A comment that a tool reads.
_ORDER = re.compile(r"^(?:NOLINT|clang-format|noqa|type: ignore|fmt: |eslint|ruff: |!|-\*-|pragma|SPDX)")
#: A word of JSDoc at the begin of a line, with its type and name: the meaning behind them is a text of its own.
_TAG = re.compile(r"^@\w+(?: \{.*?\}(?= |$))?(?: \[?[\w.]+\]?)? ?")
#: Where a full stop ends no sentence.
_ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|No|Fig|Mr|al)\.")


@dataclass(frozen=True)
class Fault:
    """A sentence that is hard to read."""

    place: str
    line: int
    why: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.place}:{self.line}: {self.why}: {self.sentence}"


def _sentences(block: str) -> Iterator[str]:
    text = re.sub(r"`+[^`]*`+", lambda m: "`code`" + m.group(0)[-2] * (m.group(0)[-2] in ".?!"), block)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)  # links
    text = re.sub(r"[*_]{1,2}(?=\w)|(?<=[\w.?!])[*_]{1,2}", "", text)
    text = _ABBREVIATIONS.sub(lambda m: m.group(0)[:-1], " ".join(text.split()))
    for sentence in re.split(r"(?<=[.?!;])[)\"]?\s+|(?<=:)\s+(?=[A-Z`])", text):
        if sentence.strip():
            yield sentence.strip()


def _faults(place: str, line: int, block: str) -> Iterator[Fault]:
    for sentence in _sentences(block):
        words = len(re.findall(r"[^\s\W][^\s]*|\d\S*|`code`", sentence))
        if words > MOST_WORDS:
            yield Fault(place, line, f"{words} words", sentence)
        for why, pattern in PATTERNS.items():
            if pattern.search(sentence):
                yield Fault(place, line, why, sentence)


def _blocks(page: str) -> Iterator[tuple[int, str]]:
    """Yield paragraphs, items of lists and cells of tables with their lines; code is left out."""
    block: list[str] = []
    start, fenced = 1, False
    for number, line in enumerate([*page.splitlines(), ""], 1):
        text = line.strip()
        fence = text.startswith(("```", ":::"))
        columns = line.startswith("    ") or re.search(r"\S {2,}\S", text)
        special = fence or fenced or not text or text.startswith(("|", "#", "<!--")) or columns
        if (special or re.match(r"[-*] |\d+\. |>", text)) and block:
            yield start, " ".join(block)
            block = []
        fenced ^= fence
        if text.startswith("|") and not fenced and not re.fullmatch(r"[|:\- ]+", text):
            for cell in re.split(r"(?<!\\)\|", text.strip("|")):
                yield number, cell
        elif not special:
            start = number if not block else start
            block.append(re.sub(r"^(?:[-*]|\d+\.|>) ", "", text))


def of_page(path: Path) -> list[Fault]:
    """Return the faults of a Markdown page."""
    place = str(path.relative_to(ROOT))
    return [f for line, block in _blocks(path.read_text(encoding="utf-8")) for f in _faults(place, line, block)]


def of_source(path: Path) -> list[Fault]:
    """Return the faults in the docstrings of a module, private ones included."""
    place = str(path.relative_to(ROOT))
    documented = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return [fault for node in _nodes(path) if isinstance(node, documented) for fault in _of_docstring(place, node)]


@functools.lru_cache(1)
def _nodes(path: Path) -> list[ast.AST]:
    """Return all nodes of a module, outer ones first: its docstrings and its strings are looked for in turn."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def _of_docstring(
    place: str, node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
) -> Iterator[Fault]:
    if text := ast.get_docstring(node):
        line = getattr(node, "lineno", 1)
        for at, block in _blocks(text):
            yield from _faults(place, line + at, block)


def of_messages(path: Path) -> list[Fault]:
    """Return the faults of the strings of a source of Python, C++ or JavaScript: messages, hints, explanations."""
    place = str(path.relative_to(ROOT))
    found = _python_strings(path) if path.suffix == ".py" else _other_strings(path)
    return [
        f for line, text in found if _is_prose(text) for _, block in _blocks(text) for f in _faults(place, line, block)
    ]


def _is_prose(text: str) -> bool:
    usage = text.startswith("usage: ")
    return len(text.split()) >= _FEWEST_WORDS and bool(_PROSE.search(text)) and not (usage or _CODE.search(text))


def _python_strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module with their lines; a value within one is code. Docstrings are left out."""
    left_out: set[int] = set()
    for node in _nodes(path):
        if isinstance(node, ast.Expr):
            left_out.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            left_out.update(id(part) for part in node.values)
            yield node.lineno, "".join(str(p.value) if isinstance(p, ast.Constant) else "`x`" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.lineno, node.value


def _other_strings(path: Path) -> Iterator[tuple[int, str]]:
    text = re.sub(r"^[ \t]*//.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for match in _LITERALS.finditer(text):
        parts = re.findall(r'"((?:[^"\\]|\\.)*)"', match[0])
        yield text[: match.start()].count("\n") + 1, "".join(parts).replace("\\n", "\n")


def of_comments(path: Path) -> list[Fault]:
    """Return the faults in the comments of a source of Python, C++ or JavaScript."""
    place = str(path.relative_to(ROOT))
    lines = _python_comments(path) if path.suffix == ".py" else _other_comments(path)
    blocks = ((first + at - 1, block) for first, text in _joined(lines) for at, block in _blocks(text))
    return [fault for line, block in blocks for fault in _faults(place, line, block)]


def _joined(lines: Iterable[tuple[int, int, bool, str]]) -> Iterator[tuple[int, str]]:
    """Yield comments of several lines. Lines in the same column are one comment, unless code stands before one."""
    text: list[str] = []
    first = last = column = 0
    for number, at, alone, line in lines:
        if text and ((number, at) != (last + 1, column) or not alone):
            yield first, "\n".join(text)
            text = []
        first = number if not text else first
        last, column = number, at
        text.append(line)
    if text:
        yield first, "\n".join(text)


def _python_comments(path: Path) -> Iterator[tuple[int, int, bool, str]]:
    """Yield line, column and text of the comments of a module, and whether no code stands before them."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type != tokenize.COMMENT:
                continue
            text = re.sub(r"^#:? ?", "", token.string)
            if not _ORDER.match(text):
                yield *token.start, not token.line[: token.start[1]].strip(), text


def _other_comments(path: Path) -> Iterator[tuple[int, int, bool, str]]:
    """Yield line, column and text of the comments of C++ or JavaScript, and whether no code stands before them."""
    text = path.read_text(encoding="utf-8")
    for match in _TOKENS.finditer(text):
        if match["line"] or match["block"]:
            number, begin = text.count("\n", 0, match.start()) + 1, text.rfind("\n", 0, match.start()) + 1
            alone = not text[begin : match.start()].strip()
            inner = re.sub(r"^//[/!]?<? ?|^/\*+ ?| ?\*+/$", "", match[0])
            for at, line in enumerate(inner.split("\n")):
                if not _ORDER.match(line):
                    yield number + at, match.start() - begin, alone or at > 0, _untyped(re.sub(r"^\s*\* ?", "", line))


def _untyped(line: str) -> str:
    """Return a line of a comment without words of JSDoc: their texts become items of a list."""
    return re.sub(r" @\w+ .*$", "", _TAG.sub("- ", line))


def of_help(name: str, command: click.Command) -> list[Fault]:
    """Return the faults of the help of a verb and of its own verbs: what they do, and their options."""
    place = f"drawtap {name}".rstrip() + " --help"
    texts = [command.help or "", *(p.help or "" for p in command.params if isinstance(p, click.Option))]
    found = [f for text in texts for line, block in _blocks(text) for f in _faults(place, line, block)]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for verb in command.list_commands(context):
            if inner := command.get_command(context, verb):
                found += of_help(f"{name} {verb}".strip(), inner)
    return found


def pages() -> list[Path]:
    """Return the pages that people wrote; those of the reference are made from helps and docstrings."""
    return sorted(
        [*ROOT.glob("*.md"), *(p for p in ROOT.glob("docs/**/*.md") if not {"reference", "_build"} & {*p.parts})]
    )


def of_spoken(path: Path) -> list[Fault]:
    """Return the faults of a source: of its docstrings in Python, its messages, its comments."""
    docstrings = of_source(path) if path.suffix == ".py" else []
    return [*docstrings, *of_messages(path), *of_comments(path)]


def sources() -> list[Path]:
    """Return the modules of the package."""
    return sorted(p for p in (ROOT / "src" / "drawtap").glob("**/*.py") if "_native" not in p.parts)


def spoken() -> list[Path]:
    """Return the sources whose strings users read: modules of the package, its page's scripts, the native parts."""
    native = [p for p in (ROOT / "native").rglob("*") if p.suffix in (".cc", ".h") and "third_party" not in p.parts]
    scripts = [p for p in (ROOT / "src" / "drawtap").glob("**/*.js") if "uplot" not in p.name.lower()]
    return sorted([*sources(), *native, *scripts])


def main(names: list[str]) -> int:
    """Print the faults of files, by default of all pages and sources."""
    paths = [Path(n).resolve() for n in names] or [*pages(), *spoken()]
    faults = [f for p in paths for f in (of_page if p.suffix == ".md" else of_spoken)(p)]
    print("\n".join(str(f) for f in faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
