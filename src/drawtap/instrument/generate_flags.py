"""Generate `call_flags.h`: what a call is (`spec.model.FLAGS`), as bits with their words.

`known_kinds.h` has the kinds of the functions of our own APIs, for recordings whose signatures lack them.
`call_shapes.h` has the ways in which the player treats calls (`spec.model.SHAPES`), by name.
"""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.instrument.generate import command_line, write_files
from drawtap.spec.model import FLAGS, KINDS, LATER_KINDS, SHAPES, Api
from drawtap.spec.registry import load_api, recorded_apis

# Words that came after the first recordings, though before the kinds.
_ALSO = frozenset({"list_begin", "list_end"})


def headers() -> dict[str, str]:
    """Return the headers' text by file name."""
    recorded = [load_api(name) for name in recorded_apis()]
    known = kinds([*recorded, load_api("vk")])
    return {"call_flags.h": flags(), "known_kinds.h": known, "call_shapes.h": shapes(recorded)}


def flags() -> str:
    """Return the header with a bit for each flag, in their order."""
    words = [f'    {{"{name}", FLAG_{name.upper()}}},' for name in FLAGS]
    return "\n".join(
        [
            "// Generated from the flags of drawtap/spec/model.py.",
            "#pragma once",
            "#include <cstdint>",
            "#include <string_view>",
            "#include <utility>",
            "namespace dt {",
            "enum Flag : uint64_t {",
            *(f"  FLAG_{name.upper()} = 1ull << {bit},  // {about}" for bit, (name, about) in enumerate(FLAGS.items())),
            "};",
            "constexpr std::pair<std::string_view, Flag> FLAG_WORDS[] = {",
            *words,
            "};",
            f"constexpr uint64_t FLAG_KINDS = {_bits(KINDS)};",
            f"constexpr uint64_t FLAG_LATER_KINDS = {_bits(LATER_KINDS)};",
            "}  // namespace dt",
            "",
        ]
    )


def _bits(words: Iterable[str]) -> str:
    return " | ".join(f"FLAG_{word.upper()}" for word in words)


def kinds(apis: Iterable[Api]) -> str:
    """Return the header with the functions that are of a kind, in the order of their names."""
    known = {name: command.flags & (KINDS.keys() | _ALSO) for api in apis for name, command in api.commands.items()}
    return "\n".join(
        [
            "// Generated from the overlays in drawtap/spec/apis.",
            "#pragma once",
            '#include "call_flags.h"',
            "namespace dt {",
            "constexpr std::pair<std::string_view, uint64_t> KNOWN_KINDS[] = {",
            *(f'    {{"{name}", {_bits(sorted(of))}}},' for name, of in sorted(known.items()) if of),
            "};",
            "}  // namespace dt",
            "",
        ]
    )


def shapes(apis: Iterable[Api]) -> str:
    """Return the header with a bit for each shape, and the functions that have any, in the order of their names."""
    known = {name: command.shapes for api in apis for name, command in api.commands.items() if command.shapes}
    bits = {name: " | ".join(f"SHAPE_{shape.upper()}" for shape in sorted(of)) for name, of in known.items()}
    return "\n".join(
        [
            "// Generated from the overlays in drawtap/spec/apis.",
            "#pragma once",
            "#include <algorithm>",
            "#include <cstdint>",
            "#include <iterator>",
            "#include <string_view>",
            "#include <utility>",
            "namespace dt {",
            "enum Shape : uint32_t {",
            *(f"  SHAPE_{name.upper()} = 1u << {bit},  // {about}" for bit, (name, about) in enumerate(SHAPES.items())),
            "};",
            "inline constexpr std::pair<std::string_view, uint32_t> CALL_SHAPES[] = {",
            *(f'    {{"{name}", {bits[name]}}},' for name in sorted(bits)),
            "};",
            "// The shapes of a function, as bits; 0: none.",
            "inline uint32_t shapes_of(std::string_view name) {",
            "  const auto* at = std::lower_bound(std::begin(CALL_SHAPES), std::end(CALL_SHAPES), name,",
            "                                    [](const auto& one, std::string_view n) { return one.first < n; });",
            "  return at != std::end(CALL_SHAPES) && at->first == name ? at->second : 0;",
            "}",
            "}  // namespace dt",
            "",
        ]
    )


def main() -> None:
    """Write the headers: `python -m drawtap.instrument.generate_flags --output DIR`."""
    write_files(command_line(main.__doc__).parse_args().output, headers())


if __name__ == "__main__":
    main()
