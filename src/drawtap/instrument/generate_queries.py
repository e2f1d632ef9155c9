"""Generate the tables of what the player asks a driver about its state (native/player/query.h has their form).

The questions and the kinds of answers stand in spec/apis/gl_queries.py; the registry gives numbers and names.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping

from drawtap.spec.apis import gl_queries as asked
from drawtap.spec.expr import SpecError
from drawtap.spec.model import Api

# In the order of enum Way in query.h.
WAYS = (
    "get", "enabled", "unit", "unit_enabled", "texture", "level", "sampler", "buffer", "attribute", "attachment",
    "renderbuffer", "program", "shader", "block", "pipeline", "light", "material", "env", "gen", "coordinates",
)  # fmt: skip
_COORDINATES = "GL_TEXTURE_COORD_ARRAY_*"
_TABLES = {
    "light": "light_values",
    "material": "material_values",
    "env": "tex_env_values",
    "gen": "tex_gen_values",
    "texture": "tex_parameter_values",
    "sampler": "tex_parameter_values",
    "program": "program_values",
}
_INTEGER, _FLOAT, _BOOLEAN, _ENUM, _NAME, _LONG, _UNSIGNED = range(7)


def generate(api: Api, classes: tuple[str, ...]) -> str:
    """Return the C++ of the tables. `classes` are the player's classes of names, in their order."""
    groups = [name or "GLenum" for name in asked.ENUMS]
    for name in groups:
        if name not in api.groups:
            raise SpecError(f"gl_queries: there is no group {name}")
    kinds = _Kinds(api, classes, groups)
    parts = [_group(api, name, i) for i, name in enumerate(groups)]
    listed = ", ".join(f"{{g_group_{i}, {len(_distinct(api, name))}}}" for i, name in enumerate(groups))
    parts.append(f"extern const EnumTable g_enum_tables[] = {{{listed}}};")
    parts.append(f"extern const int g_draw_buffers = {groups.index('DrawBufferMode')};")
    ways = {way: _members(api, way) for way in WAYS}
    for way, names in ways.items():
        rows = "\n".join(f"  {kinds.row(way, name)}," for name in names)
        parts.append(f"static const Query q_{way}[] = {{\n{rows}\n}};")
    table = ", ".join(f"{{q_{way}, {len(names)}}}" for way, names in ways.items())
    parts.append(f"extern const QueryList g_queries[] = {{{table}}};")
    parts.append(_indexed(kinds, api, "g_indexed", asked.INDEXED))
    parts.append(_indexed(kinds, api, "g_indexed_enabled", asked.INDEXED_ENABLED))
    parts.append(_answers(kinds, api, classes))
    text = "\n".join(parts)
    return f'// Generated.\n#include "query.h"\nnamespace dt::play {{\n{text}\n}}  // namespace dt::play\n'


def _group(api: Api, name: str, index: int) -> str:
    rows = ", ".join(f'{{0x{value:X}u, "{member}"}}' for value, member in sorted(_distinct(api, name).items()))
    return f"static const EnumName g_group_{index}[] = {{{rows}}};"


def _distinct(api: Api, group: str) -> dict[int, str]:
    by_value: dict[int, str] = {}
    for member, value in api.groups[group].values.items():
        if 0 <= value < 1 << 32:
            by_value.setdefault(value, member)
    return by_value


def _members(api: Api, way: str) -> list[str]:
    group, words = asked.ASKED["get" if way == "coordinates" else way]
    preferred = _distinct(api, "GetPName" if way == "coordinates" else group)
    names = dict.fromkeys(preferred.values())
    if way == "coordinates":
        return fnmatch.filter(names, _COORDINATES)
    if way in ("unit", "unit_enabled"):
        names = {}
    values = {api.enums[name]: name for name in names}
    for word in words.split():
        if word.startswith("-"):
            values = {v: n for v, n in values.items() if not fnmatch.fnmatch(n, word[1:])}
            continue
        # A glob means those names of the group, and any enumerant that a group lacks.
        for name in fnmatch.filter(api.enums, word):
            known = way not in ("unit",) or name in preferred.values()
            if known:
                values.setdefault(api.enums[name], name)
    if way == "get":
        caps = set(_distinct(api, "EnableCap"))
        values = {v: n for v, n in values.items() if v not in caps and not fnmatch.fnmatch(n, _COORDINATES)}
    return [values[value] for value in sorted(values)]


class _Kinds:
    """The kind of value of each answer."""

    def __init__(self, api: Api, classes: tuple[str, ...], groups: list[str]) -> None:
        self._api = api
        self._kind: dict[int, tuple[int, int]] = {}
        for words, kind in (
            (asked.FLOATS, _FLOAT),
            (asked.BOOLEANS, _BOOLEAN),
            (asked.LONG, _LONG),
            (asked.UNSIGNED, _UNSIGNED),
        ):
            self._add(words, kind, -1)
        # The groups of everything else come first, so that a group's own word counts more.
        for name, words in sorted(asked.ENUMS.items()):
            self._add(words, _ENUM, groups.index(name or "GLenum"))
        for name, words in asked.NAMES.items():
            self._add(words, _NAME, classes.index(name))
        self._limits = self.values(asked.LIMITS)

    def values(self, words: str) -> set[int]:
        """Return the numbers of the enumerants that are named."""
        numbers: set[int] = set()
        for word in words.split():
            names = fnmatch.filter(self._api.enums, word)
            if not names:
                raise SpecError(f"gl_queries: nothing is called {word}")
            numbers.update(self._api.enums[name] for name in names)
        return numbers

    def _add(self, words: str, kind: int, table: int) -> None:
        for value in self.values(words):
            self._kind[value] = (kind, table)

    def row(self, way: str, name: str) -> str:
        value = self._api.enums[name]
        kind, table = self._kind.get(value, (_INTEGER, -1))
        if way in ("enabled", "unit_enabled"):
            kind, table = _BOOLEAN, -1
        count = asked.COUNTS.get(name, 0) or self._count(way, name)
        limit = int(value in self._limits and way == "get")
        return f'{{0x{value:X}, {kind}, {limit}, {count}, {table}, "{name}"}}'

    def _count(self, way: str, name: str) -> int:
        if way in ("get", "unit"):
            return 0  # the mirror knows
        rows: Mapping[str, int | str] = self._api.tables.get(_TABLES.get(way, ""), {})
        count = rows.get(name, 1)
        return count if isinstance(count, int) else 1


def _indexed(kinds: _Kinds, api: Api, name: str, lists: Mapping[str, str]) -> str:
    rows: list[str] = []
    for limit, words in lists.items():
        first = words.split()[0]
        rows += (
            f"  {{0x{api.enums[limit]:X}, {int(word == first)}, {kinds.row('get', word)}}},"
            for word in _known(api, words.split())
        )
    text = "\n".join(rows)
    return f"extern const IndexedQuery {name}[] = {{\n{text}\n}};\nextern const unsigned {name}_count = {len(rows)};"


def _answers(kinds: _Kinds, api: Api, classes: tuple[str, ...]) -> str:
    """Return what a comparison does with answers: those not in the table are compared as they are."""
    table = dict.fromkeys(kinds.values(asked.LIMITS) | kinds.values(asked.UNCOMPARED), -1)
    for name, words in asked.NAMES.items():
        table.update(dict.fromkeys(kinds.values(words), classes.index(name)))
    table[api.enums["GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME"]] = -1  # a texture's or a renderbuffer's
    rows = ", ".join(f"{{0x{value:X}, {what}}}" for value, what in sorted(table.items()))
    return f"extern const Answer g_answers[] = {{{rows}}};\nextern const unsigned g_answers_count = {len(table)};"


def _known(api: Api, words: Iterable[str]) -> list[str]:
    known = list(words)
    for word in known:
        if word not in api.enums:
            raise SpecError(f"gl_queries: there is no {word}")
    return known
