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
    own: tuple[frozenset[str], ...] = ()
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
        texts = [source.read_text(encoding="utf-8") for source in sources]
        return replace(
            self,
            sources=(*self.sources, *sources),
            own=(*self.own, *(frozenset(_declared(text, all_of_it=False)) for text in texts)),
            seen=(*self.seen, *map(_names_of_headers, sources)),
            size=self.size + sum(map(len, texts)),
        )

    def clashes(self) -> dict[Path, list[str]]:
        """Return, by source, names of its own that mean something else in other sources or in their headers."""
        often = Counter(name for own in self.own for name in own)
        headers = frozenset[tuple[str, Path]]().union(*self.seen)
        return {
            source: sorted(own & ({name for name in own if often[name] > 1} | {name for name, _ in headers - seen}))
            for source, own, seen in zip(self.sources, self.own, self.seen, strict=True)
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
            declared = _declared(found.read_text(encoding="utf-8"), all_of_it=True)
            names |= {*((name, found) for name in declared), *_names_of_headers(found)}
    return names


def _declared(text: str, *, all_of_it: bool) -> Iterator[str]:
    """Yield names that lines at the margin declare: all, or what unnamed namespaces and `static` hide; and macros."""
    inside = all_of_it
    for line in text.splitlines():
        if line.startswith(("namespace", "}  // namespace")):
            inside = all_of_it or line == "namespace {"
        elif re.match(r'#define XXH_INLINE_ALL|extern "C"|(struct|class) \w+;', line):
            continue  # twice the same is no harm
        elif found := re.match(r"#define \w+.*", line):
            yield found[0]
        elif (inside and re.match(r"\w", line)) or line.startswith("static "):
            # The last word before what a declaration goes on with; words of templates are left out.
            head = re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", line))
            words = re.findall(r"\w+", re.split(r"[(=\[{;:]", head.replace("::", ""), maxsplit=1)[0])
            named = [word for word in words if word not in {"template", "enum", "final", "__attribute__"}]
            if named:
                yield named[1] if named[0] == "using" and len(named) > 1 else named[-1]
    for values in re.findall(r"^enum(?! class)[^{;]*\{([^}]*)\}", text, re.MULTILINE):
        yield from re.findall(r"[A-Z]\w+", values)


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
