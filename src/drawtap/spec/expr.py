"""The small language of size rules: Python expressions over a command's parameters.

A rule is a string such as ``"count * 4"``, ``"light_params(pname)"`` or ``"n if n > 0 else 0"``. Names are the
command's parameters, enumerants of its API, and ``result`` (the return value, in `actual` rules only). Named tables of
the overlay are called with one argument. The mirror (native/mirror/sizes.h) implements the functions of FUNCTIONS.
Arithmetic is 64-bit signed; negative counts mean zero.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from drawtap.errors import DrawtapError, did_you_mean
from drawtap.spec.model import CType, StructType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from drawtap.spec.model import Api, Command, Member

FUNCTIONS: dict[str, str] = {
    "index_size(type)": "bytes of an index of that type",
    "type_size(type)": "bytes of a component of that type",
    "pixel_size(format, type)": "bytes of one pixel, unpadded",
    "map_components(target)": "components of an evaluator target",
    "map1_size(target, stride, order)": "values that glMap1 reads",
    "map2_size(target, ustride, uorder, vstride, vorder)": "values that glMap2 reads",
    "call_lists_size(type)": "bytes of a list name of that type",
    "get_count(pname)": "values that glGet* returns for pname (asks the driver where the count is dynamic)",
    "get_indexed_count(target)": "values that glGet*i_v returns",
    "get_int(pname)": "asks the driver: glGetIntegerv(pname), without changing errors",
    "deref(pointer)": "*pointer, 0 when NULL; only of parameters",
    "tex_image_size(target, level, format, type)": "bytes that glGetTexImage writes",
    "compressed_image_size(target, level)": "bytes that glGetCompressedTexImage writes",
    "named_tex_image_size(texture, level, format, type)": "bytes that glGetTextureImage writes",
    "uniform_size(program, location)": "components of a uniform",
    "bound(enumerant)": "1 while a buffer is bound to that target",
    "clear_components(buffer)": "values that glClearBuffer* reads",
    "map_get_count(target, query)": "values that glGetMap returns",
    "pixel_map_size(map)": "values that glGetPixelMap returns",
    "named_compressed_image_size(texture, level)": "bytes that glGetCompressedTextureImage writes",
    "imaging_width(target)": "width of a colour table, convolution filter or histogram",
    "imaging_height(target)": "height of a convolution filter",
    "uniform_block_uniforms(program, block)": "active uniforms of a uniform block",
    "atomic_counters(program, buffer)": "active atomic counters of an atomic counter buffer",
    "compatible_subroutines(program, shadertype, index)": "subroutines that fit a subroutine uniform",
    "program_string_size(target)": "bytes of the ARB program bound to a target",
    "sum(counts, n)": "sum of the first n 32-bit integers at counts, 0 when NULL",
    "strlen(s)": "length of a terminated string, 0 when NULL",
    "min(a, b)": "the smaller",
    "max(a, b)": "the larger",
}

# Parameters of FUNCTIONS that are pointers; all others, and every result, are int64_t.
_POINTERS = {"deref": ("pointer",), "strlen": ("s",), "sum": ("counts",)}
_SIGNATURE = re.compile(r"(\w+)\(([^)]*)\)")


class SpecError(DrawtapError):
    """Refuse an overlay or a rule that does not fit its registry."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a rule may use: parameters, enumerants with their values, tables, `result`."""

    where: str
    params: frozenset[str]
    enums: Mapping[str, int]
    tables: frozenset[str] = frozenset()
    result: bool = False
    pointers: frozenset[str] = frozenset()
    members: bool = False  # whether rules may lead into structures


def function_parameters() -> dict[str, tuple[str, ...]]:
    """Return the parameter names of every function of FUNCTIONS."""
    parameters: dict[str, tuple[str, ...]] = {}
    for text in FUNCTIONS:
        match = _SIGNATURE.fullmatch(text)
        assert match is not None, text
        parameters[match[1]] = tuple(part.strip() for part in match[2].split(","))
    return parameters


_PARAMETERS = function_parameters()


def declare(signature: str, meaning: str) -> None:
    """Add a function that the rules of an overlay call, such as ``"toy_stride(handle)"``; the runtime implements it."""
    FUNCTIONS[signature] = meaning
    _PARAMETERS.update(function_parameters())


def prototypes_to_cpp() -> str:
    """Return the C++ declarations, in namespace dt::size, of the functions that rules call."""
    lines = ["namespace dt::size {"]
    for name, params in _PARAMETERS.items():
        if name == "deref":
            continue  # written in place: (p ? (int64_t)*p : 0)
        pointers = _POINTERS.get(name, ())
        typed = ", ".join(("const void* " if p in pointers else "int64_t ") + p for p in params)
        lines.append(f"int64_t {name}({typed});")
    return "\n".join([*lines, "}  // namespace dt::size", ""])


_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.And: "&&", ast.Or: "||", ast.USub: "-", ast.Not: "!",
}  # fmt: skip


@cache
def parse(text: str) -> ast.expr:
    """Parse a rule and check that it keeps to the language; names are not looked up. Raises SpecError."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise SpecError(f"rule {text!r} is no expression: {error.msg}") from None
    for node in ast.walk(tree):
        problem = _problem(node)
        if problem:
            raise SpecError(
                f"rule {text!r} uses {problem}",
                hint="allowed: + - * // % << >> & |, comparisons, and or not, x if c else y, calls, names, integers",
            )
    return tree


def _problem(node: ast.AST) -> str | None:
    match node:
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod(), right=right):
            if not (isinstance(right, ast.Constant) and isinstance(right.value, int) and right.value > 0):
                return "a division by something else than a positive constant"
        case ast.Constant(value=value):
            if isinstance(value, bool) or not isinstance(value, int):
                return f"the constant {value!r}"
        case ast.Compare(ops=ops):
            if len(ops) != 1:
                return "a chained comparison"
        case ast.Call(func=func, keywords=keywords):
            if keywords or not isinstance(func, ast.Name):
                return "a call that is not NAME(arguments)"
        case ast.Attribute(value=value):
            if not isinstance(value, ast.Name | ast.Subscript | ast.Attribute):
                return "a member of something else than a name"
        case ast.Subscript(value=value, slice=index):
            if not isinstance(value, ast.Name) or not isinstance(index, ast.Name):
                return "a Subscript that is not NAME[NAME]"
        case ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.IfExp() | ast.Name() | ast.expr_context():
            pass
        case ast.operator() | ast.unaryop() | ast.boolop() | ast.cmpop():
            if type(node) not in _OPERATORS:
                return f"the operator {type(node).__name__}"
        case _:
            return f"{type(node).__name__}"
    return None


@cache
def expanded(pattern: str) -> tuple[str, ...]:
    """Expand {a,b}: "glUniform{1,2}fv" names two commands."""
    match = re.search(r"\{([^{}]*)\}", pattern)
    if match is None:
        return (pattern,)
    before, after = pattern[: match.start()], pattern[match.end() :]
    return tuple(name for part in match[1].split(",") for name in expanded(before + part + after))


def tidy(text: str) -> str:
    """Return a rule as Python spells it, without needless brackets and blanks. Raises SpecError."""
    return ast.unparse(parse(text))


@cache
def paths(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the members that a rule reads, each as the names on the way: ("pInfos", "geometryCount")."""
    ways = []
    inner = {id(node.value) for node in ast.walk(parse(text)) if isinstance(node, ast.Attribute)}
    for node in ast.walk(parse(text)):
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            ways.append(tuple(_way(node)))
    return tuple(ways)


def _way(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Attribute(value=value, attr=name):
            yield from _way(value)
            yield name
        case ast.Subscript(value=ast.Name(id=name)) | ast.Name(id=name):
            yield name


@cache
def names(text: str) -> tuple[frozenset[str], tuple[tuple[str, int, tuple[str | None, ...]], ...]]:
    """Return the plain names of a rule, and its calls as (function, number of arguments, plain-name arguments)."""
    tree = parse(text)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {id(call.func) for call in calls}
    plain = frozenset(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called)
    listed = []
    for call in calls:
        assert isinstance(call.func, ast.Name)
        arguments = tuple(a.id if isinstance(a, ast.Name) else None for a in call.args)
        listed.append((call.func.id, len(call.args), arguments))
    return plain, tuple(listed)


def validate(text: str, scope: Scope) -> None:
    """Check that every name of a rule exists in `scope` and every call fits. Raises SpecError."""
    plain, calls = names(text)
    if paths(text) and not scope.members:
        raise SpecError(f"{scope.where}: rule {text!r} uses Attribute: this API has no structures")
    for name in plain:
        if name in scope.params or name in scope.enums or (name == "result" and scope.result):
            continue
        known = [*scope.params, *(n for n in scope.enums if n[:4] == name[:4])]
        raise SpecError(
            f"{scope.where}: rule {text!r} names {name}, which is neither a parameter nor an enumerant",
            hint=did_you_mean(name, known) or f"parameters: {', '.join(sorted(scope.params))}",
        )
    for name, count, arguments in calls:
        if name in scope.tables:
            expected = 1
        elif name in _PARAMETERS:
            expected = len(_PARAMETERS[name])
        else:
            raise SpecError(
                f"{scope.where}: rule {text!r} calls {name}, which is neither a function nor a table",
                hint=did_you_mean(name, [*_PARAMETERS, *scope.tables]),
            )
        if count != expected:
            raise SpecError(f"{scope.where}: rule {text!r} gives {name} {count} arguments instead of {expected}")
        given = dict(zip(_PARAMETERS.get(name, ()), arguments, strict=False))
        if any(given[pointer] not in scope.params for pointer in _POINTERS.get(name, ())):
            raise SpecError(f"{scope.where}: rule {text!r} must give {name} a parameter")


@cache
def renamed(text: str, pairs: tuple[tuple[str, str], ...]) -> str:
    """Return the rule with plain names replaced: for an alias whose parameters are called differently."""
    mapping = dict(pairs)
    plain, _ = names(text)
    if not plain & mapping.keys():
        return text
    tree = ast.parse(text.strip(), mode="eval")
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and id(node) not in called:
            node.id = mapping.get(node.id, node.id)
    return ast.unparse(tree)


def to_cpp(text: str, command: Command, api: Api) -> str:
    """Translate a rule to a C++ expression of type int64_t.

    Parameters are C++ locals of their own names, the return value is `_result`, functions are
    `dt::size::NAME`, tables `dt::table::NAME`.
    """
    types = {p.name: p.type for p in command.params} | {"result": command.returns, "index": _INDEX}
    return _Cpp(types, api.enums, frozenset(api.tables), api.structs).text(parse(text))


def struct_to_cpp(text: str, struct: StructType, api: Api, outer: Command | StructType) -> str:
    """Translate a rule of a structure to a C++ expression of type int64_t.

    `self` is a pointer to the structure and, where the rule uses `outer`, so is `outer` to the structure that leads
    here; where a command does, its parameters are locals.
    """
    types = {m.name: _decayed(m) for m in struct.members} | {"index": _INDEX}
    spelled = {m.name: f"self->{m.name}" for m in struct.members}
    return _Cpp(types, api.enums, frozenset(api.tables), api.structs, spelled, outer).text(parse(text))


@dataclass(frozen=True, slots=True)
class _Cpp:
    types: Mapping[str, CType]
    enums: Mapping[str, int]
    tables: frozenset[str]
    structs: Mapping[str, StructType] = field(default_factory=dict)
    locals: Mapping[str, str] = field(default_factory=lambda: {"result": "_result"})
    outer: Command | StructType | None = None

    def text(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=int(value)):
                return _literal(value)
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute() | ast.Subscript():
                reached, checks, ctype = self._reached(node)
                return self._guarded(f"(int64_t){'(intptr_t)' if _is_pointer(ctype) else ''}{reached}", checks)
            case ast.BinOp(left=left, op=op, right=right):
                return f"({self.text(left)} {_OPERATORS[type(op)]} {self.text(right)})"
            case ast.UnaryOp(op=op, operand=operand):
                return f"(int64_t)({_OPERATORS[type(op)]}{self.text(operand)})"
            case ast.BoolOp(op=op, values=values):
                return "(int64_t)(" + f" {_OPERATORS[type(op)]} ".join(self.text(v) for v in values) + ")"
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return f"(int64_t)({self.text(left)} {_OPERATORS[type(op)]} {self.text(right)})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self.text(test)} ? {self.text(body)} : {self.text(orelse)})"
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, args)
        raise AssertionError(ast.dump(node))  # parse() lets nothing else through

    def _name(self, name: str) -> str:
        if name in self.types:
            local = self.locals.get(name, name)
            return f"(int64_t)(intptr_t){local}" if _is_pointer(self.types[name]) else f"(int64_t){local}"
        return _literal(self.enums[name])

    def _reached(self, node: ast.expr) -> tuple[str, tuple[str, ...], CType]:
        """Return what a way leads to: its C++, the pointers on the way that must not be NULL, its type."""
        match node:
            case ast.Attribute(value=ast.Name(id="outer"), attr=name) if self.outer is not None:
                if isinstance(self.outer, StructType):
                    return f"outer->{name}", ("outer",), _decayed(self.outer.member(name))
                return name, (), self.outer.param(name).type
            case ast.Attribute(value=value, attr=name):
                text, checks, ctype = self._reached(value)
                member = self.structs[ctype.base].member(name)
                if ctype.indirection:
                    return f"{text}->{name}", (*checks, text), _decayed(member)
                return f"{text}.{name}", checks, _decayed(member)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=index)):
                ctype = self.types[name]
                text = self.locals.get(name, name)
                return f"{text}[{index}]", (text,), replace(ctype, indirection=ctype.indirection - 1)
            case ast.Name(id=name):
                return self.locals.get(name, name), (), self.types[name]
        raise AssertionError(ast.dump(node))  # parse() lets nothing else through

    @staticmethod
    def _guarded(value: str, checks: tuple[str, ...]) -> str:
        return f"({' && '.join(checks)} ? {value} : (int64_t)0)" if checks else value

    def _call(self, name: str, args: list[ast.expr]) -> str:
        if name in self.tables:
            return f"dt::table::{name}({self.text(args[0])})"
        if name == "deref":
            pointer = args[0].id if isinstance(args[0], ast.Name) else ""
            return f"({pointer} ? (int64_t)*{pointer} : (int64_t)0)"
        given = []
        for parameter, arg in zip(_PARAMETERS[name], args, strict=True):
            bare = parameter in _POINTERS.get(name, ()) and isinstance(arg, ast.Name)
            given.append(f"(const void*){ast.unparse(arg)}" if bare else self.text(arg))
        return f"dt::size::{name}({', '.join(given)})"


_INDEX = CType("int64_t", "int64_t", 0, const=False, scalar="i64")


def _is_pointer(ctype: CType) -> bool:
    return bool(ctype.indirection) or ctype.scalar == "ptr"


def _decayed(member: Member) -> CType:
    """Return a member's type, a fixed array as the pointer that C makes of it."""
    return replace(member.type, indirection=member.type.indirection + 1) if member.lengths else member.type


def _literal(value: int) -> str:
    if value > 0x7FFFFFFFFFFFFFFF:
        value -= 1 << 64
    if value == -(1 << 63):
        return "INT64_MIN"
    text = hex(abs(value)) if abs(value) > 255 else str(abs(value))
    return f"(int64_t){text}" if value >= 0 else f"(int64_t)(-{text})"


def tables_to_cpp(api: Api) -> str:
    """Return C++ functions for the named tables of an API, in namespace dt::table."""
    cpp = _Cpp({}, api.enums, frozenset(api.tables))
    lines = ["namespace dt::table {"]
    lines += [f"static inline int64_t {name}(int64_t v);" for name in api.tables]
    for name, rows in api.tables.items():
        lines += [f"static inline int64_t {name}(int64_t v) {{", "  switch (v) {"]
        lines += list(_cases(rows, api, cpp))
        default = rows.get("default", 0)
        lines += [f"    default: return {_entry(default, cpp)};", "  }", "}"]
    return "\n".join([*lines, "}  // namespace dt::table", ""])


def _cases(rows: Mapping[str, int | str], api: Api, cpp: _Cpp) -> Iterator[str]:
    by_result: dict[str, list[int]] = {}
    seen: set[int] = set()
    for key, entry in rows.items():
        value = api.enums.get(key)
        if key == "default" or value is None or value in seen:
            continue
        seen.add(value)
        by_result.setdefault(_entry(entry, cpp), []).append(value)
    for result, values in by_result.items():
        yield "    " + " ".join(f"case {hex(v)}:" for v in values) + f" return {result};"


def _entry(entry: int | str, cpp: _Cpp) -> str:
    return cpp.text(parse(entry)) if isinstance(entry, str) else _literal(entry)
