"""Generate `call_flags.h`: what a call is (`spec.model.FLAGS`), as bits with their words.

`known_kinds.h` has the kinds of the functions of our own APIs, for recordings whose signatures lack them.
"""

from __future__ import annotations

from collections.abc import Iterable

from drawtap.instrument.generate import command_line, write_files
from drawtap.spec.model import FLAGS, KINDS, LATER_KINDS, Api
from drawtap.spec.registry import load_api, recorded_apis

# Words that came after the first recordings, though before the kinds.
_ALSO = frozenset({"list_begin", "list_end"})


def headers() -> dict[str, str]:
    """Return the headers' text by file name."""
    return {"call_flags.h": flags(), "known_kinds.h": kinds(map(load_api, (*recorded_apis(), "vk")))}


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


def main() -> None:
    """Write the headers: `python -m drawtap.instrument.generate_flags --output DIR`."""
    write_files(command_line(main.__doc__).parse_args().output, headers())


if __name__ == "__main__":
    main()
