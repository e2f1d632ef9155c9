"""Names of Vulkan that older headers lack, for C source."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from xml.etree import ElementTree

from drawtap.spec.registry import XML

_VERSION = re.compile(r"^VK_[A-Z]+_VERSION_(\d+_\d+)$")


def older_names(enumerants: Mapping[str, int], types: Collection[str]) -> str:
    """Return `names.h`: definitions of the enumerants and structure types that headers older than the registry lack.

    Headers have enumerants as constants, which the preprocessor cannot ask for: their version decides.
    """
    root = ElementTree.parse(XML / "vk.xml").getroot()
    version = next(
        "".join(each.itertext()).split()[-1]
        for each in root.iter("type")
        if each.findtext("name") == "VK_HEADER_VERSION" and "vulkan" in (each.get("api") or "vulkan")
    )
    lines = [
        "/* Names that older headers lack. */",
        "#ifndef PLAY_NAMES_H",
        "#define PLAY_NAMES_H",
        '#include "play.h"',
        "",
    ]
    lines += _types(root, types)
    lines.append(f"#if VK_HEADER_VERSION < {version}")
    for name, number in enumerants.items():
        lines.append(f"#define {name} {number if number >= 0 else f'({number})'}{'ull' if number > 0x7FFFFFFF else ''}")
    return "\n".join([*lines, "#endif", "", "#endif", ""])


def _types(root: ElementTree.Element, types: Collection[str]) -> Iterator[str]:
    """Yield definitions of types by the names that they had before they became part of Vulkan."""
    aliases: dict[str, list[str]] = defaultdict(list)
    for each in root.iter("type"):
        if each.get("category") == "struct" and each.get("alias") in types:
            aliases[str(each.get("alias"))].append(str(each.get("name")))
    wanted = {name for names in aliases.values() for name in names} | set(aliases)
    providers: dict[str, str] = {}
    for part in (*root.iter("feature"), *root.iter("extension")):
        if part.get("number") is None:
            continue
        for each in part.iter("type"):
            if each.get("name") in wanted:
                providers.setdefault(str(each.get("name")), _VERSION.sub(r"VK_VERSION_\1", str(part.get("name"))))
    for name, known in aliases.items():
        if name not in providers:
            continue
        yield f"#ifndef {providers[name]}"
        word = "#if"
        for alias in known:
            if alias in providers:
                yield f"{word} defined({providers[alias]})"
                yield f"#define {name} {alias}"
                word = "#elif"
        if word == "#elif":
            yield "#endif"
        yield "#endif"
