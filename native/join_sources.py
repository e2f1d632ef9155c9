#!/usr/bin/env python3
"""Join sources into translation units: most of an object is what headers and templates become, and a unit has it once.

    join_sources.py --output FOLDER --bytes N SOURCE...    writes units, and prints them and the sources that stay alone

Two sources of a unit may have helpers of one name. A macro then gives one of them another name, unless it stands for
something else in that source. CMake joins sources when it configures, tests join what they compile with sanitizers.
"""

from __future__ import annotations

import argparse
import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path


def joined(
    sources: Iterable[Path],
    most: int,
    *,
    alone: Collection[Path] = (),
    key: Callable[[Path], Hashable] = lambda source: (source.parent, source.suffix),
) -> list[Unit]:
    """Return sets of sources that a compiler may read one after the other, the largest first.

    `most`: bytes of the sources of a unit. Sources with another `key` and those `alone` are not joined.
    """
    found: list[Unit] = []
    for source in sources:
        made = Unit(key(source), most, source in alone).with_(source)
        fitting = next((i for i, unit in enumerate(found) if unit.fits(made)), None)
        if fitting is None:
            found.append(made)
        else:
            found[fitting] = found[fitting].with_(source)
    return sorted(found, key=lambda unit: -unit.size)


@dataclass(frozen=True)
class Unit:
    """Sources with the names that each has for itself, and those of the headers that each sees."""

    key: Hashable
    most: int
    alone: bool = False
    sources: tuple[Path, ...] = ()
    own: tuple[tuple[Declared, ...], ...] = ()
    seen: tuple[frozenset[tuple[str, Path]], ...] = ()
    size: int = 0

    def fits(self, other: Unit) -> bool:
        if self.key != other.key or self.alone or other.alone:
            return False
        # Two headers may mean different things by one name.
        mine, theirs = (frozenset[tuple[str, Path]]().union(*one.seen) for one in (self, other))
        if {name for name, _ in mine - theirs} & {name for name, _ in theirs - mine}:
            return False
        both = self.with_(*other.sources)
        renamed = (_renamable(source, name) for source, names in both.clashes().items() for name in names)
        return both.size < self.most and all(renamed)

    def with_(self, *sources: Path) -> Unit:
        return replace(
            self,
            sources=(*self.sources, *sources),
            own=(*self.own, *(declared(source, own=True) for source in sources)),
            seen=(*self.seen, *map(_names_of_headers, sources)),
            size=self.size + sum(source.stat().st_size for source in sources),
        )

    def clashes(self) -> dict[Path, list[str]]:
        """Return, by source, names of its own that mean something else in other sources or in their headers."""
        often = Counter(pair for own in self.own for pair in {(one.whole, one.same) for one in own})
        whole = Counter(name for (name, same), n in often.items() for _ in range(1 if same else n))
        headers = frozenset[tuple[str, Path]]().union(*self.seen)
        return {
            source: sorted({one.named for one in own if whole[one.whole] > 1 or one.key in others})
            for source, own, seen in zip(self.sources, self.own, self.seen, strict=True)
            for others in [{name for name, _ in headers - seen}]
        }

    def text(self) -> str:
        """Return the unit: what its sources include, then each of them, with names of its own where they clash."""
        lines = list(dict.fromkeys(line for source in self.sources for line in _included(source)))
        for source, names in self.clashes().items():
            lines += [f"#define {name} {name}_of_{source.stem}" for name in names]
            lines += [f'#include "{source.resolve()}"', *(f"#undef {name}" for name in names)]
        return "\n".join([*lines, ""])


def _included(source: Path) -> Iterator[str]:
    """Yield what a source includes at its top on any condition, with the macros before that; paths are whole."""
    inside = 0
    for line in source.read_text(encoding="utf-8").splitlines():
        inside += line.startswith("#if") - line.startswith("#endif")
        if line and not line.startswith(("#", "//")):
            return
        if not inside and line.startswith(("#include", "#define")):
            found = re.search(r'"(.*)"', line)
            whole = (source.parent / found[1]).resolve() if found else None
            yield f'#include "{whole}"' if whole and whole.exists() else line


def _renamable(source: Path, name: str) -> bool:
    """Whether a macro may give a name of this source another: it stands for nothing else there."""
    text = source.read_text(encoding="utf-8")
    return name.isidentifier() and name != "operator" and not re.search(rf"(\.|->|::)\s*{name}\b", text)


@functools.cache
def _names_of_headers(path: Path) -> frozenset[tuple[str, Path]]:
    names: frozenset[tuple[str, Path]] = frozenset()
    for header in re.findall(r'^#include "(.*)"', path.read_text(encoding="utf-8"), re.MULTILINE):
        if (found := (path.parent / header).resolve()).exists():
            names |= {*((one.key, found) for one in declared(found, own=False)), *_names_of_headers(found)}
    return names


@dataclass(frozen=True)
class Declared:
    """A name at file level: its namespace, its line, and its text where a second declaration like it is no harm."""

    name: str
    namespace: str
    line: int
    same: str = ""

    @property
    def whole(self) -> str:
        return f"{self.namespace}::{self.name}"

    @property
    def named(self) -> str:
        """What a macro would have to give another name: of a macro that is its text, which none can."""
        return self.same if self.same.startswith("#") else self.name

    @property
    def key(self) -> str:
        """The name, or the text of a macro: no other macro gives that one another name."""
        return self.same if self.same.startswith("#") else self.whole


_NAMESPACE = re.compile(r"namespace ?([\w:]*) \{$")
_NOT_DECLARED = re.compile(
    r"extern |using namespace|using [\w:]+;|(struct|class|enum( class)?) \w+( : \w+)?;|template <[^;{(]*>$|typedef |"
    r"static_assert|public:|private:|namespace|asm"
)
_TYPE = re.compile(r"(template <.*> )?(struct|class|enum|union|using)\b")
_ATTRIBUTES = re.compile(r"\[\[.*?\]\]|alignas\([^)]*\)|__attribute__\(\(.*?\)\)")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def declared(path: Path, *, own: bool) -> tuple[Declared, ...]:
    """Return names that lines at the margin declare, as clang-format lays them out: all, or those of a source `own`.

    A source's own: types, constants, macros without `#undef`, and what unnamed namespaces and `static` hide.
    """
    return _declared_in(path.read_text(encoding="utf-8"), own)


@functools.cache
def _declared_in(text: str, own: bool) -> tuple[Declared, ...]:
    return tuple(_declared(text, own=own))  # by text, not by path: a file may have changed


def _declared(text: str, *, own: bool) -> Iterator[Declared]:
    lines = text.split("\n")
    inside: list[str] = []
    for number, line in enumerate(lines, 1):
        if found := _NAMESPACE.match(line):
            inside.append(found[1])
        elif line.startswith("}  // namespace"):
            del inside[-1:]
        elif found := re.match(r"#define (\w+)(.*)", line):
            if found[1] != "XXH_INLINE_ALL" and f"\n#undef {found[1]}\n" not in text:
                yield Declared(found[1], "", number, line)
        elif re.match(r"[A-Za-z_]", line) and not _NOT_DECLARED.match(line):
            fixed = re.match(r"(static |inline )?(constexpr|const)\b", line)
            hidden = not own or "" in inside or line.startswith("static ")
            for name, function in _names("\n".join(lines[number - 1 : number + 40])):
                if hidden or _TYPE.match(line) or (fixed and not function):
                    same = line if line.startswith("using ") else ""
                    yield Declared(name, "::".join(filter(None, inside)), number, same)


def _names(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the names that the declaration at the beginning of a text gives, and whether that is a function."""
    line = text.split("\n", 1)[0]
    head = _ATTRIBUTES.sub("", line)
    while re.search(r"<[^<>]*>", head):
        head = re.sub(r"<[^<>]*>", "", head)
    before = re.split(r"[(=\[{;]|(?<!:):(?!:)", head, maxsplit=1)[0]
    words = re.findall(r"[\w:~]+", before)
    if not words:
        return
    if words[0] == "using":
        yield words[1], False
    elif words[0] in ("enum", "struct", "class", "union") and "{" in line and "(" not in line.split("{")[0]:
        yield from ((word, False) for word in [one for one in words if one not in ("enum", "class", "struct")][:1])
        if words[0] == "enum" and words[1:2] != ["class"] and (values := re.search(r"\{([^}]*)\}", text)):
            yield from ((name, False) for name in re.findall(r"(?:^|,)\s*(\w+)", _COMMENTS.sub("", values[1])))
    elif words[-1] != "operator" and "::" not in words[-1]:
        rest = head[len(before) :]
        yield words[-1], rest.startswith("(")
        if rest.endswith(";") and not rest.startswith("("):
            flat = re.sub(r"\([^()]*\)|\{[^{}]*\}", "", rest)
            yield from ((name, False) for name in re.findall(r", \*?(\w+)(?= =|\{|,|;|\[)", flat))


def main() -> None:
    """Write the units of a target."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--bytes", type=int, required=True)
    parser.add_argument("--alone", default="", help="names of sources that are units for themselves, with ; between")
    parser.add_argument("sources", type=Path, nargs="+")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    alone = [source for source in arguments.sources if source.name in arguments.alone.split(";")]
    for number, unit in enumerate(joined(arguments.sources, arguments.bytes, alone=alone)):
        if len(unit.sources) == 1:
            print(unit.sources[0])
            continue
        path = arguments.output / f"unit_{number}{unit.sources[0].suffix}"
        if not path.exists() or path.read_text(encoding="utf-8") != unit.text():
            path.write_text(unit.text(), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
