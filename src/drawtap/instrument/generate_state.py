"""Generate the C++ of the state machine from the specification: its classes, and what every command does to them.

The classes come from the state tree (`spec/apis/gl_tree.py`), the effects from the overlay (`spec/apis/gl_effects.py`).
An effect `set` becomes an assignment to a variable of a node, `create` and `delete` begin and end objects, `run` calls
the hand-written function of that name in native/state. Paths may go through references, nodes that C++ finds
(REFERENCES): `context.unit.env[pname]` is a variable of the active texture unit.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from drawtap.instrument.generate import command_line, functions_of, write_files
from drawtap.instrument.hook import Function
from drawtap.spec import expr
from drawtap.spec.apis import gl_effects
from drawtap.spec.apis.gl_tree import TREE
from drawtap.spec.expr import SpecError
from drawtap.spec.model import Effect, Param
from drawtap.spec.overlay import effect_values, is_path
from drawtap.spec.registry import load_api, recorded_apis
from drawtap.spec.tree import StateClass, Variable

FUNCTIONS_PER_UNIT = 900
KNOWN = recorded_apis()
MODELLED = ("gl", "vg")
NATIVES = ("egl", "glx")  # whose effects that run something are flags of their commands

# Nodes that C++ finds: the class, and how many keys it takes.
REFERENCES: Mapping[str, tuple[str, int]] = {
    "unit": ("texture_unit", 0),
    "bound_texture": ("texture", 1),
    "bound_buffer": ("buffer", 1),
    "vao": ("vertex_array", 0),
    "client_unit_array": ("client_array", 0),
    "draw_framebuffer": ("framebuffer", 0),
    "bound_framebuffer": ("framebuffer", 1),
    "used_program": ("program", 0),
    "named_buffer": ("buffer", 1),
    "touched_buffer": ("buffer", 1),
    "uniform_program": ("program", 0),
    "bound_renderbuffer": ("renderbuffer", 0),
}
# Stacks of matrices, which C++ finds for arguments alone: how many keys they take.
STACKS: Mapping[str, int] = {"current_stack": 0, "stack_of": 1}
_KINDS = {
    "b": "boolean", "e": "enumerant", "i": "integer", "u": "mask", "f": "floating", "c": "color", "d": "real",
    "n": "name", "h": "content", "s": "text", "p": "address",
}  # fmt: skip
_ROOTS = {
    "gl": {"context": ("context", "_m.context()"), "share": ("share", "_m.share()")},
    "vg": {"context": ("vg_context", "_m.vg_context()"), "share": ("vg_share", "_m.vg_share()")},
}
_FINDS = {"context": "own_object", "share": "object"}
_SCALARS = frozenset({"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"})
_FIXED = frozenset({"GLfixed", "GLclampx"})
_COPIES = (
    "glCopyTex* glCopyImageSubData* glCopyBufferSubData glCopyNamedBufferSubData glBlitFramebuffer* glBlitNamed* "
    "glGenerateMipmap* glGenerateTextureMipmap* glCopyPixels "
    "vgCopyImage vgCopyMask vgGetPixels vgColorMatrix vgConvolve vgSeparableConvolve vgGaussianBlur vgLookup* "
    "vgIterativeAverageBlurKHR vgParametricFilterKHR vguDropShadowKHR vguGlowKHR vguBevelKHR vguGradient*KHR"
)
_ASKS = re.compile(
    r"(gl|egl|glX)(Get|Is|Query|Are)|vg(Get(?!Pixels|ImageSubData)|HardwareQuery|PathLength|PathBounds|"
    r"PathTransformedBounds|PointAlongPath)|vguComputeWarp"
)


def generate() -> dict[str, str]:
    """Return the generated files by name."""
    functions = functions_of(KNOWN)
    groups = _value_groups(functions)
    files = {"state_tree.h": _tree_header(), "state_tree.cc": _tree_source(groups)}
    bodies = [(f, apply(f)) for f in functions]
    texts = [text for _, text in bodies if text]
    for number, start in enumerate(range(0, len(texts), FUNCTIONS_PER_UNIT)):
        part = "\n".join(texts[start : start + FUNCTIONS_PER_UNIT])
        tables = "".join(expr.tables_to_cpp(load_api(name)) for name in MODELLED)
        head = f'#include "apply.h"\n#include "gl.h"\n#include "vg.h"\n{tables}\nnamespace dt::state {{\n'
        files[f"apply_{number}.cc"] = f"{head}{part}\n}}  // namespace dt::state\n"
    files["apply.h"] = _apply_header([f for f, text in bodies if text])
    files["effects.h"] = _effects_header(functions)
    files["commands.cc"] = _commands([(f, bool(text)) for f, text in bodies])
    return files


# ---- classes ---------------------------------------------------------------------------------------------------


def _prefixes() -> dict[str, int]:
    names = dict.fromkeys(
        v.name.rpartition(".")[0] for c in TREE.classes.values() for v in c.variables if "." in v.name
    )
    return {"": 0, **{name: i + 1 for i, name in enumerate(names)}}


def _class_ids() -> dict[str, int]:
    return {name: i for i, name in enumerate(TREE.classes)}


def _words(v: Variable) -> int:
    return 2 if v.kind == "h" else v.components


def _tree_header() -> str:
    lines = ["// Generated. The numbers of classes, variables and collections.", "#pragma once", '#include "tree.h"']
    lines += ["namespace dt::state {", "enum ClassId : uint16_t {"]
    lines += [f"  class_{name}," for name in TREE.classes]
    lines += ["};", f"constexpr unsigned CLASS_COUNT = {len(TREE.classes)};", "extern const ClassInfo g_classes[];"]
    lines += ["enum Prefix : unsigned {"]
    lines += [f"  prefix_{name.replace('.', '_') or 'none'} = {i}," for name, i in _prefixes().items()]
    lines += [
        "};",
        "struct AttribField { uint32_t bit; uint16_t field; };",
        "extern const AttribField g_attrib_fields[];  // of a context",
        "extern const unsigned g_attrib_field_count;",
        "const char* enum_text(const char* group, uint32_t value);  // nullptr: no name",
        "int64_t enum_value(const char* name);  // -1: no enumerant",
    ]
    for name, c in TREE.classes.items():
        lines.append(f"namespace f_{name} {{")
        if c.variables:
            lines.append("enum : uint16_t { " + ", ".join(v.identifier for v in c.variables) + " };")
        starts = _locations(c)
        for group, (first, end) in c.groups.items():
            lines.append(f"constexpr Group group_{group}{{{starts[first]}, {starts[end] - starts[first]}}};")
        lines.append("}")
        if c.children:
            lines.append(f"namespace c_{name} {{ enum : uint16_t {{ {', '.join(k.name for k in c.children)} }}; }}")
    return "\n".join([*lines, "}  // namespace dt::state", ""])


def _locations(c: StateClass) -> list[int]:
    starts, at = [], 1
    for v in c.variables:
        starts.append(at)
        at += v.elements
    return [*starts, at]


def _tree_source(groups: Mapping[tuple[str, str], str]) -> str:
    ids, enums = _class_ids(), _all_enums()
    lines = [
        "// Generated. The classes of state.",
        '#include "state_tree.h"',
        "#include <algorithm>",
        "#include <cstring>",
    ]
    lines += ["#include <string_view>", "namespace dt::state {", "namespace {"]
    rows = []
    for name, c in TREE.classes.items():
        starts, word, fields, initial = _locations(c), 0, [], []
        for v, location in zip(c.variables, starts, strict=False):
            group = groups.get((name, v.name))
            quoted = f'"{group}"' if group else "nullptr"
            indexed = "true" if v.always_indexed else "false"
            numbers = f"{_words(v)}, {v.elements}, {word}, {location}"
            fields.append(f'  {{"{v.name}", {quoted}, Kind::{_KINDS[v.kind]}, {indexed}, {numbers}}},')
            word += _words(v) * v.elements
            initial += _initial(v, enums) * v.elements
        lines += [
            f"const FieldInfo fields_{name}[] = {{",
            *fields,
            "  {nullptr, nullptr, Kind::text, false, 0, 0, 0, 0}};",
        ]
        lines += [f"const Word initial_{name}[] = {{", "  " + ", ".join([*initial, "0"]), "};"]
        lines += list(_children_tables(c, ids, enums))
        keyed = sorted(_by_enum(c, enums))
        lines += [
            f"const EnumField by_enum_{name}[] = {{",
            "  " + " ".join(f"{{{hex(k)}ull, {i}}}," for k, i in keyed),
            "  {0, 0}};",
        ]
        rows.append(
            f'  {{"{name}", fields_{name}, {len(c.variables)}, {word}, {starts[-1]}, initial_{name}, '
            f"children_{name}, {len(c.children)}, by_enum_{name}, {len(keyed)}}},"
        )
    lines += list(_enum_tables(groups))
    lines += ["}  // namespace", "const ClassInfo g_classes[] = {", *rows, "};", *_attribute_groups(), _ENUM_CODE]
    return "\n".join([*lines, "}  // namespace dt::state", ""])


def _all_enums() -> dict[str, int]:
    enums: dict[str, int] = {}
    for name in KNOWN:
        enums |= load_api(name).enums
    return enums


def _children_tables(c: StateClass, ids: Mapping[str, int], enums: Mapping[str, int]) -> Iterator[str]:
    entries = []
    for k in c.children:
        keys = "nullptr"
        if k.keys:
            yield f"const uint32_t keys_{c.name}_{k.name}[] = {{{', '.join(hex(enums[key]) for key in k.keys)}}};"
            keys = f"keys_{c.name}_{k.name}"
        style = {"index": "index", "enum": "enumerant", "name": "name"}[k.style]
        entries.append(f'  {{"{k.name}", {ids[k.of]}, Style::{style}, {k.made}, {keys}, {len(k.keys)}}},')
    yield f"const ChildInfo children_{c.name}[] = {{"
    yield from entries
    yield "  {nullptr, 0, Style::index, 0, nullptr, 0}};"


def _by_enum(c: StateClass, enums: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    prefixes, seen = _prefixes(), set()
    for index, v in enumerate(c.variables):
        if v.always_indexed:
            continue
        prefix, _, name = v.name.rpartition(".")
        if name in enums:
            key = prefixes[prefix] << 32 | enums[name]
            if key not in seen:
                seen.add(key)
                yield key, index


def _initial(v: Variable, enums: Mapping[str, int]) -> list[str]:
    if v.kind == "h":
        return ["0", "0"]
    words = v.initial or ("0",)
    if len(words) == 1:
        words = words * v.components
    bits = []
    for word in words:
        if v.kind in "fcd":
            bits.append(hex(struct.unpack("<Q", struct.pack("<d", _single(float(word), v.kind)))[0]) + "ull")
        else:
            number = enums[word] if word in enums else int(word, 0)
            bits.append(hex(number & 0xFFFFFFFFFFFFFFFF) + "ull")
    return bits


def _single(value: float, kind: str) -> float:
    single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return value if kind == "d" else single


def _value_groups(functions: Sequence[Function]) -> dict[tuple[str, str], str]:
    """Enum groups of variables: each has the group of the first parameter which is stored there as it is."""
    groups: dict[tuple[str, str], str] = dict(gl_effects.GROUPS)
    for f in functions:
        if f.api.name not in MODELLED:
            continue
        for effect in f.command.effects:
            if effect.verb != "set" or effect.value is None:
                continue
            try:
                target = _Path(f, effect.path)
            except SpecError:
                continue
            if target.variable is None or target.variable.kind != "e":
                continue
            for p in f.command.params:
                if p.name == effect.value and p.group and p.group != "GLenum":
                    groups.setdefault((target.of.name, target.variable.name), p.group)
    return groups


def _enum_tables(groups: Mapping[tuple[str, str], str]) -> Iterator[str]:
    apis = [load_api(name) for name in KNOWN]
    # the table of draws names these, whose numbers mean something else elsewhere (GL_TRIANGLES is 4)
    used = dict.fromkeys([*groups.values(), "PrimitiveType", "BlendingFactor", "GLenum"])
    entries = []
    for name in used:
        group = next((api.groups[name] for api in apis if name in api.groups), None)
        if group is None:
            continue
        values: dict[int, str] = {}
        for member, value in group.values.items():
            values.setdefault(value, member)
        yield f"const EnumName enum_{name}[] = {{"
        yield "  " + " ".join(f'{{{hex(v & 0xFFFFFFFF)}u, "{values[v]}"}},' for v in sorted(values)) + "};"
        entries.append(f'  {{"{name}", enum_{name}, {len(values)}}},')
    yield "struct NamedGroup { const char* name; const EnumName* values; unsigned count; };"
    yield "const NamedGroup g_groups[] = {"
    yield from entries
    yield "};"


_ENUM_CODE = """
static const char* find_enum(const NamedGroup& g, uint32_t value) {
  auto* end = g.values + g.count;
  auto* it = std::lower_bound(g.values, end, value, [](const EnumName& e, uint32_t v) { return e.value < v; });
  return it != end && it->value == value ? it->name : nullptr;
}
const char* enum_text(const char* group, uint32_t value) {
  if (group)
    for (auto& g : g_groups)
      if (!strcmp(g.name, group))
        if (const char* name = find_enum(g, value)) return name;
  for (auto& g : g_groups)
    if (!strcmp(g.name, "GLenum")) return find_enum(g, value);
  return nullptr;
}
int64_t enum_value(const char* name) {
  for (auto& g : g_groups)
    for (unsigned i = 0; i < g.count; ++i)
      if (!strcmp(g.values[i].name, name)) return g.values[i].value;
  return -1;
}
"""


def _attribute_groups() -> list[str]:
    enums, context = load_api("gl").enums, TREE.classes["context"]
    rows = []
    for bit, names in gl_effects.ATTRIB_GROUPS.items():
        for name in (name for family in names.split() for name in expr.expanded(family)):
            index = context.variables.index(context.variable(name))
            rows.append(f"  {{{hex(enums[bit])}, {index}}},")
    return [
        "const AttribField g_attrib_fields[] = {",
        *rows,
        "};",
        f"const unsigned g_attrib_field_count = {len(rows)};",
    ]


# ---- effects -----------------------------------------------------------------------------------------------------


def apply(f: Function) -> str:
    """Return the C++ function that applies one recorded call of a command; "" where it has no effect."""
    if f.api.name not in MODELLED or not f.command.effects:
        return ""
    body = [f"  {line}" for effect in f.command.effects for line in _effect(f, effect)]
    text = "\n".join(body)
    loads = [
        f"  {_load(f, p)} (void){p.name};" for p in f.command.params if re.search(rf"\b{re.escape(p.name)}\b", text)
    ]
    if "_result" in text:
        loads.append(f"  const int64_t _result = {_raw(f, '', f.command.returns.scalar)};")
    return "\n".join([f"void fx_{f.name}(Machine& _m, const Row& _w) {{", "  (void)_m, (void)_w;", *loads, text, "}"])


def _raw(f: Function, name: str, scalar: str) -> str:
    width, index = f.layout.slot(name, "value").split(":")
    raw = f"_w.w{width}({index})"
    return f"(int32_t){raw}" if scalar in ("i8", "i16", "i32") else f"(int64_t){raw}"


def _load(f: Function, p: Param) -> str:
    if p.type.indirection:
        return f"const Array {p.name} = {_array(f, p)};"
    _, index = f.layout.slot(p.name, "value").split(":")
    if p.type.scalar == "f32":
        return f"const float {p.name} = _w.f32({index});"
    if p.type.scalar == "f64":
        return f"const double {p.name} = _w.f64({index});"
    if p.type.scalar == "struct":
        return f"const int64_t {p.name} = 0;"
    return f"const int64_t {p.name} = {_raw(f, p.name, p.type.scalar)};"


def _array(f: Function, p: Param) -> str:
    order = [field.param for field in f.layout.w8 if field.role == "data"]
    _, value = f.layout.slot(p.name, "value").split(":")
    scalar = p.type.scalar if p.type.scalar in _SCALARS else "u8"
    if p.type.base in _FIXED:
        scalar = "fixed"
    if p.type.indirection > 1:
        scalar = "pointer"
    element = getattr(p.data, "element", None)
    if element in _SCALARS:
        scalar = element
    if p.name not in order:
        return f"_m.array(_w, -1, -1, {value}, Scalar::{scalar})"
    _, descriptor = f.layout.slot(p.name, "data").split(":")
    return f"_m.array(_w, {order.index(p.name)}, {descriptor}, {value}, Scalar::{scalar})"


@dataclass(frozen=True)
class _Step:
    name: str
    key: str | None


def _steps(path: str) -> list[_Step]:
    """Split `a.b[k].c[p][q]` into names and keys; a key without a name of its own gets the name ""."""
    steps: list[_Step] = []
    at = 0
    while at < len(path):
        if path[at] == ".":
            at += 1
        match = re.compile(r"\w*").match(path, at)
        assert match is not None
        name, at = match[0], match.end()
        key = None
        if at < len(path) and path[at] == "[":
            depth, start = 0, at + 1
            while at < len(path):
                depth += (path[at] == "[") - (path[at] == "]")
                at += 1
                if not depth:
                    break
            key = path[start : at - 1]
        steps.append(_Step(name, key))
        if not name and key is None:
            raise SpecError(f"state path {path!r} has an empty part")
    return steps


class _Path:
    """A path of an effect, resolved: C++ for its node, and the variable; `dynamic` names it by an enumerant."""

    def __init__(self, f: Function, path: str) -> None:
        self._f = f
        self._where = f"{f.name}: {path}"
        steps = _steps(path)
        root = steps.pop(0)
        roots = _ROOTS[f.api.name]
        if root.name not in roots:
            raise SpecError(f"{self._where}: no root is called {root.name}", hint=f"roots: {', '.join(roots)}")
        of, self.node = roots[root.name]
        self.of = TREE.classes[of]
        self.variable: Variable | None = None
        self.collection: str | None = None
        self.prefix, self.dynamic, self.element = "", "", "0"
        prefixes = _prefixes()
        if root.key is not None:
            steps.insert(0, _Step("", root.key))
        while steps:
            step = steps.pop(0)
            children = {c.name: c for c in self.of.children}
            if not step.name and step.key is not None:
                self.dynamic = self._key(step.key)
                self._last(steps)
                return
            if step.name in REFERENCES:
                self._reference(step)
            elif step.name in children and step.key is not None:
                child = children[step.name]
                where = f"c_{self.of.name}::{child.name}"
                self.node = f"_m.child({self.node}, {where}, (uint64_t)({self._key(step.key)}))"
                self.of = TREE.classes[child.of]
            elif step.name in children and not steps:
                self.collection = step.name
                return
            elif step.name in prefixes and step.key is not None:
                self.prefix, self.dynamic = step.name, self._key(step.key)
                self._last(steps)
                return
            else:
                self._variable(step, steps, prefixes)
                return
        raise SpecError(f"{self._where}: the path ends in a node")

    def _last(self, steps: list[_Step]) -> None:
        if steps:
            self.element = self._key(steps[0].key or "0")

    def _reference(self, step: _Step) -> None:
        of, keys = REFERENCES[step.name]
        if bool(keys) != (step.key is not None):
            raise SpecError(f"{self._where}: {step.name} takes {keys} keys")
        key = f", {self._key(step.key)}" if step.key is not None else ""
        self.node = f"run::{step.name}(_m{key})"
        self.of = TREE.classes[of]

    def _variable(self, step: _Step, steps: list[_Step], prefixes: Mapping[str, int]) -> None:
        name, key = step.name, step.key
        if name in prefixes and steps:
            following = steps.pop(0)
            name, key = f"{name}.{following.name}", following.key
        try:
            self.variable = self.of.variable(name)
        except KeyError as error:
            raise SpecError(f"{self._where}: {error.args[0]}") from None
        if key is not None:
            self.element = "*" if key == "*" else self._key(key)
        if steps:
            raise SpecError(f"{self._where}: nothing can follow a variable")

    def _key(self, text: str) -> str:
        return "*" if text == "*" else expr.to_cpp(text, self._f.command, self._f.api)

    @property
    def field(self) -> str:
        assert self.variable is not None
        return f"f_{self.of.name}::{self.variable.identifier}"


def _effect(f: Function, effect: Effect) -> Iterator[str]:
    when = f"if ({expr.to_cpp(effect.when, f.command, f.api)}) " if effect.when else ""
    if effect.verb == "run":
        name = effect.path.removeprefix("context.")
        arguments = "".join(f", {_argument(f, v)}" for v in effect_values(effect.value)) if effect.value else ""
        yield f"{when}run::{name}(_m{arguments});"
    elif effect.verb in ("create", "delete"):
        path = _Path(f, effect.path)
        value = _argument(f, effect.value or "0")
        prefix = "" if f.api.name == "gl" else f"{f.api.name}_"
        yield f"{when}run::{prefix}{effect.verb}_names(_m, {path.node}, c_{path.of.name}::{path.collection}, {value});"
    elif effect.verb == "set":
        yield f"{when}{{ {_set(f, effect)} }}"
    else:
        raise SpecError(f"{f.name}: the state machine does not know the effect {effect.verb}")


def _set(f: Function, effect: Effect) -> str:
    path = _Path(f, effect.path)
    values = effect_values(effect.value or "0")
    only = _parameter(f, values[0]) if len(values) == 1 else None
    is_pointer = only is not None and only.type.indirection
    given = values[0] if is_pointer else "{" + ", ".join(f"Num({_number(f, v)})" for v in values) + "}"
    if path.dynamic:
        prefix = f"prefix_{path.prefix or 'none'}"
        call = f"_m.set_any(_n, {prefix}, (uint32_t)({path.dynamic}), (unsigned)({path.element}), {given});"
    elif path.element == "*":
        call = f"_m.set_all(_n, {path.field}, {given});"
    else:
        call = f"_m.set(_n, {path.field}, (unsigned)({path.element}), {given});"
    return f"if (Node* _n = {path.node}) {call}"


def _parameter(f: Function, name: str) -> Param | None:
    return next((p for p in f.command.params if p.name == name), None)


def _number(f: Function, value: str) -> str:
    p = _parameter(f, value)
    if p is None:
        return expr.to_cpp(value, f.command, f.api)
    if p.type.base in _FIXED:
        return f"Num::fixed({p.name})"
    return p.name if not p.type.indirection else f"{p.name}.address"


def _object(f: Function, path: str) -> str:
    """Return C++ that finds the object of a path: by its name, or by a reference."""
    root, step = _steps(path)
    key = "" if step.key is None else expr.to_cpp(step.key, f.command, f.api)
    keys = STACKS[step.name] if step.name in STACKS else REFERENCES.get(step.name, ("", -1))[1]
    if keys < 0:
        return f"_m.{_FINDS[root.name]}(c_{root.name}::{step.name}, (uint64_t)({key}))"
    if keys != bool(key):
        raise SpecError(f"{f.name}: {path}: {step.name} takes {keys} keys")
    return f"run::{step.name}(_m{key and f', {key}'})"


def _argument(f: Function, value: str) -> str:
    if is_path(value):
        return _object(f, value)
    p = _parameter(f, value)
    if p is None:
        return expr.to_cpp(value, f.command, f.api)
    return f"Num::fixed({p.name})" if p.type.base in _FIXED and not p.type.indirection else p.name


# ---- tables ------------------------------------------------------------------------------------------------------


def _apply_header(functions: Sequence[Function]) -> str:
    lines = ["// Generated.", "#pragma once", '#include "machine.h"', "namespace dt::state {"]
    lines += [f"void fx_{f.name}(Machine&, const Row&);" for f in functions]
    return "\n".join([*lines, "}", ""])


def _effects_header(functions: Sequence[Function]) -> str:
    """Declare the hand-written functions that effects run: each takes what the overlay hands to it."""
    given: dict[str, list[set[str]]] = {}
    for f in functions:
        for effect in f.command.effects if f.api.name in MODELLED else ():
            if effect.verb != "run":
                continue
            values = effect_values(effect.value) if effect.value else []
            name = effect.path.removeprefix("context.")
            types = given.setdefault(name, [set() for _ in values])
            if len(types) != len(values):
                raise SpecError(f"{f.name}: other commands run {name} with {len(types)} arguments")
            for known, value in zip(types, values, strict=True):
                known.add(_argument_type(f, value))
    lines = ["// Generated. The hand-written effects of commands.", "#pragma once", '#include "machine.h"']
    lines += ["namespace dt::state::run {", "struct Stack;"]
    for name, types in given.items():
        lines.append(f"void {name}({', '.join(['Machine&', *map(_declared, types)])});")
    return "\n".join([*lines, "}  // namespace dt::state::run", ""])


def _argument_type(f: Function, value: str) -> str:
    """Return the C++ type of an argument; "" for an expression, which any number type takes."""
    if is_path(value):
        return "const Stack&" if _steps(value)[1].name in STACKS else "Node*"
    p = _parameter(f, value)
    if p is None:
        return ""
    if p.type.indirection:
        return "Array"
    if p.type.scalar in ("f32", "f64") or p.type.base in _FIXED:
        return "Num" if f.api.name == "gl" else "double"
    return "int64_t"


def _declared(types: set[str]) -> str:
    """Return the type of a parameter that commands give arguments of these types."""
    some = types - {""} or {"int64_t"}
    return some.pop() if len(some) == 1 else "Num"


def _commands(functions: Sequence[tuple[Function, bool]]) -> str:
    patterns = re.compile("|".join(re.escape(p).replace(r"\*", ".*") + r"\Z" for p in _COPIES.split()))
    known, commands = [], []
    for f, modelled in functions:
        flags = [
            word
            for word, condition in (
                ("CMD_DRAW", f.has("draw")),
                ("CMD_CLEAR", f.has("clear")),
                ("CMD_DISPATCH", f.has("dispatch")),
                ("CMD_UPLOAD", f.has("upload")),
                ("CMD_READBACK", f.has("readback")),
                ("CMD_COPY", bool(patterns.match(f.name))),
                ("CMD_QUERY", bool(_ASKS.match(f.name))),
                ("CMD_NOT_LISTED", f.name in gl_effects.not_listed()),
                ("CMD_IN_BEGIN", f.name in gl_effects.in_begin()),
                ("CMD_GL", f.api.name == "gl"),
                ("CMD_VG", f.api.name == "vg"),
                ("CMD_GET_ERROR", f.name in ("glGetError", "vgGetError")),
                ("CMD_SHOWS", f.has("frame_end") and not f.has("finish", "readback")),
                ("CMD_MODELLED", modelled),
                ("CMD_MANY", f.name in gl_effects.MANY),
                (
                    "CMD_ARRAYS",
                    bool(re.match(r"gl(Multi)?(Mode)?Draw(Arrays|Elements|RangeElement)|glArrayElement", f.name)),
                ),
            )
            if condition
        ]
        if f.api.name in NATIVES:
            runs = [effect.path.rpartition(".")[2] for effect in f.command.effects if effect.verb == "run"]
            flags += [f"NATIVE_{name.upper()}" for name in runs]
        known.append(f'  {{"{f.name}", nullptr, {f.layout.words}, 0}},')
        commands.append(f"  {{{f'fx_{f.name}' if modelled else 'nullptr'}, {' | '.join(flags) or '0'}}},")
    return "\n".join(
        [
            "// Generated. The functions that the state machine knows.",
            '#include "apply.h"',
            '#include "../state/known.h"',
            '#include "../state/natives.h"',
            "namespace dt::play {",
            "extern const Known g_known[] = {",
            *known,
            "};",
            f"extern const unsigned g_known_count = {len(known)};",
            "}  // namespace dt::play",
            "namespace dt::state {",
            "extern const Command g_commands[] = {",
            *commands,
            "};",
            "}  // namespace dt::state",
            "",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the sources of the state machine: `python -m drawtap.instrument.generate_state --output DIR`."""
    write_files(command_line(main.__doc__).parse_args(arguments).output, generate())


if __name__ == "__main__":
    main()
