"""The recorder: packs every call into this thread's chunk before the driver runs, and completes it after.

The record of a call is whole when the driver is entered, so a crash inside the driver keeps the call that caused
it. Outputs, the return value and the duration are filled in afterwards, in room that was set aside.
"""

from __future__ import annotations

from dataclasses import dataclass

from drawtap.instrument import generate_trees
from drawtap.instrument.hook import Function, Hook, Hooks
from drawtap.spec import expr
from drawtap.spec.model import (
    Array,
    AttributeList,
    BufferOffset,
    Chain,
    ClientArray,
    CompressedImage,
    CType,
    Data,
    Each,
    Image,
    Opaque,
    String,
    Strings,
    Struct,
    TemplateData,
    Tree,
)

RECORD_HEADER_BYTES = 16
_UNPACK, _PACK = "GL_PIXEL_UNPACK_BUFFER", "GL_PIXEL_PACK_BUFFER"


@dataclass(frozen=True)
class _Place:
    """Where a content comes from and goes: its dt::Data local, the pointer, the address of its descriptor."""

    local: str
    name: str
    at: str


@dataclass(frozen=True)
class _Captured:
    """C++ of one captured content: `prepare` declares a dt::Data, `fill` runs after the driver ("" for inputs)."""

    local: str
    prepare: str
    fill: str = ""
    may_be_large: bool = False


def hooks() -> Hooks:
    """Return the recorder as a hook set."""
    return Hooks(name="recorder", hook_funcs=(_record,), shares_scope=True)


def _record(function: Function) -> Hook:
    return Hook(before_run=_before(function), after_run=_after(function))


def _before(f: Function) -> str:
    captured = _captured(f)
    lines = ["dt::emit_order(_t);"] if f.has("sync", "make_current", "context") else []
    if _has_trees(f):
        lines.append("dt::tree::begin();")
        lines += [f"const uint64_t _outer[] = {{{_outer_values(f)}}};"] if _is_outer(f) else []
    lines += [c.prepare for c in captured]
    fixed = _fixed_bytes(f)
    rooms = "".join(f" + {c.local}.room()" for c in captured)
    lines.append(f"const size_t _size = {fixed}{rooms};")
    lines += [
        "char* const _r = dt::reserve_call(_t, _size);",
        "if (DT_LIKELY(_r != nullptr)) {",
    ]
    lines += [f"  {store}" for store in _stores(f)]
    if captured:
        lines.append(f"  char* _tail = _r + {fixed};")
        copy = "dt::tree::copy_data" if _has_trees(f) else "dt::copy_data"
        lines += [f"  _tail = {copy}(_tail, {c.local});" for c in captured]
        lines.append("  (void)_tail;")
    lines += [
        "  dt::put_entry_clock((dt_record*)_r);",
        f"  dt::put_head(_r, {f.id}, _size);",
        "  dt::commit(_t, _r + _size);",
        "  _t->calls++;",
        "}",
    ]
    return "\n".join(lines)


def _after(f: Function) -> str:
    captured = _captured(f)
    lines = ["if (DT_LIKELY(_r != nullptr)) {", "  dt::finish(_t, (dt_record*)_r);"]
    if f.returns_value:
        lines.append(f"  {_store_return(f)}")
    if any(c.fill for c in captured):
        lines.append(f"  char* _out = _r + {_fixed_bytes(f)};")
        for c in captured:
            if c.fill:
                lines.append(f"  {c.fill}")
            lines.append(f"  _out += {c.local}.room();")
        lines.append("  (void)_out;")
        if any(c.may_be_large for c in captured):
            lines.append("  dt::flush_outs(_t);")
    lines.append("}")
    return "\n".join(lines)


# ---- fixed fields --------------------------------------------------------------------------------------------


def _fixed_bytes(f: Function) -> int:
    return RECORD_HEADER_BYTES + 8 * len(f.layout.w8) + (4 * len(f.layout.w4) + 7) // 8 * 8


def _stores(f: Function) -> list[str]:
    stores = []
    for index, field in enumerate(f.layout.w8):
        at = f"_r + {RECORD_HEADER_BYTES + 8 * index}"
        if field.role == "data":
            stores.append(f"dt::put8({at}, {_local(field.param)}.descriptor);")
        elif field.param:
            stores.append(f"dt::put8({at}, {_as8(f.command.param(field.param).type, field.param)});")
        else:
            stores.append(f"dt::put8({at}, (uint64_t)0);")
    for index, field in enumerate(f.layout.w4):
        at = f"_r + {RECORD_HEADER_BYTES + 8 * len(f.layout.w8) + 4 * index}"
        if field.param:
            stores.append(f"dt::put4({at}, {_as4(f.command.param(field.param).type, field.param)});")
        else:
            stores.append(f"dt::put4({at}, 0u);")
    return stores


def _store_return(f: Function) -> str:
    for index, field in enumerate(f.layout.w8):
        if not field.param and field.role == "value":
            return f"dt::put8(_r + {RECORD_HEADER_BYTES + 8 * index}, {_as8(f.command.returns, '_result')});"
    for index, field in enumerate(f.layout.w4):
        if not field.param:
            at = RECORD_HEADER_BYTES + 8 * len(f.layout.w8) + 4 * index
            return f"dt::put4(_r + {at}, {_as4(f.command.returns, '_result')});"
    return ""


def _as8(ctype: CType, name: str) -> str:
    if ctype.indirection or ctype.scalar == "ptr":
        return f"(uint64_t)(uintptr_t){name}"
    if ctype.scalar == "f64":
        return f"(double){name}"
    return f"({'int64_t' if ctype.scalar.startswith('i') else 'uint64_t'}){name}"


def _as4(ctype: CType, name: str) -> str:
    if ctype.scalar == "f32":
        return f"(float){name}"
    return f"({'int32_t' if ctype.scalar.startswith('i') else 'uint32_t'}){name}"


# ---- contents ------------------------------------------------------------------------------------------------


def _local(param: str) -> str:
    return f"_d_{param}" if param else "_d_return"


def _captured(f: Function) -> list[_Captured]:
    """The contents of a call in the order of their descriptors."""
    captured = []
    for index, field in enumerate(f.layout.w8):
        if field.role != "data":
            continue
        at = f"(uint64_t*)(_r + {RECORD_HEADER_BYTES + 8 * index})"
        if field.param:
            parameter = f.command.param(field.param)
            captured.append(_content(f, field.param, parameter.type, parameter.data, at))
        else:
            captured.append(_returned(f, f.command.returns_data, at))
    return captured


def _content(f: Function, name: str, ctype: CType, data: Data | None, at: str) -> _Captured:
    local = _local(name)
    match data:
        case Array(out=False) as array:
            begin = f"(const void*){_begin(f, name, array)}"
            return _Captured(local, f"const dt::Data {local} = dt::prepare(_t, {begin}, {_bytes(f, array, ctype)});")
        case Array() as array:
            actual = _bytes(f, array, ctype, array.actual) if array.actual else f"_n{local}"
            return _out(local, _begin(f, name, array), at, _bytes(f, array, ctype), actual)
        case String(out=False) as string:
            length = f"dt::string_bytes((const char*){name}, {_expr(f, string.length) if string.length else '-1'})"
            return _Captured(local, f"const dt::Data {local} = dt::prepare(_t, (const void*){name}, {length});")
        case String() as string:
            capacity = _expr(f, string.capacity) if string.capacity else "(int64_t)256"
            actual = _expr(f, string.actual) if string.actual else f"dt::string_within((const char*){name}, _n{local})"
            return _out(local, name, at, capacity, actual)
        case Strings() as strings:
            lengths = f"(const int32_t*){strings.lengths}" if strings.lengths else "nullptr"
            prepare = (
                f"const dt::Data {local} = dt::prepare_strings(_t, {_expr(f, strings.count)}, "
                f"(const char* const*){name}, {lengths});"
            )
            return _Captured(local, prepare)
        case Image(out=out) as image:
            size = "dt::size::image_out" if out else "dt::size::image_in"
            extent = ", ".join(_expr(f, e) for e in (image.format, image.type, image.width, image.height, image.depth))
            bytes_ = f"{size}(_t, {extent}, {image.dimensions}, (const void*){name})"
            if image.limit:
                bytes_ = f"dt::at_most({bytes_}, {_expr(f, image.limit)})"
            return _buffer_or_memory(f, _Place(local, name, at), _PACK if out else _UNPACK, bytes_, out=out)
        case CompressedImage(out=out) as image:
            bytes_ = _expr(f, image.size) if out else _compressed_bytes(f, image)
            return _buffer_or_memory(f, _Place(local, name, at), _PACK if out else _UNPACK, bytes_, out=out)
        case BufferOffset(otherwise=Array() as array) as offset:
            return _buffer_or_memory(f, _Place(local, name, at), offset.binding, _bytes(f, array, ctype), out=array.out)
        case AttributeList() as attributes:
            width = 8 if ctype.scalar in ("i64", "u64") else 4
            alone = _alone(f, attributes)
            terminator = f.api.enums.get(attributes.terminator)
            if terminator is None:
                terminator = int(attributes.terminator, 0)
            bytes_ = f"dt::attribute_bytes<int{8 * width}_t>((const void*){name}, {terminator}{alone})"
            return _Captured(local, f"const dt::Data {local} = dt::prepare(_t, (const void*){name}, {bytes_});")
        case Struct() as struct:
            size = _expr(f, struct.size) if struct.size else f"(int64_t)sizeof(*{name})"
            if struct.out:
                return _out(local, name, at, size, size)
            return _Captured(local, f"const dt::Data {local} = dt::prepare(_t, (const void*){name}, {size});")
        case TemplateData(update=update):
            prepare = f"dt::prepare_template(_t, (const void*){name}, {_expr(f, update)})"
            return _Captured(local, f"const dt::Data {local} = {prepare};")
        case Tree() as tree:
            return _tree(f, _Place(local, name, at), ctype, tree)
        case None | Opaque() | ClientArray() | BufferOffset() | Each() | Chain():
            return _Captured(local, f"const dt::Data {local} = dt::unknown_data((const void*){name});")
    raise AssertionError(f"{f.name}: no capture for {data!r}")


def _tree(f: Function, place: _Place, ctype: CType, tree: Tree) -> _Captured:
    number, local = generate_trees.number_name(ctype.base, f.api), place.local
    stride = _expr(f, tree.stride) if tree.stride else "0"
    outer = "_outer" if _is_outer(f) else "nullptr"
    count = _expr(f, tree.count)
    if not tree.out:
        prepare = f"dt::tree::prepare(_t, (const void*){place.name}, {count}, {number}, {stride}, {outer})"
        return _Captured(local, f"const dt::Data {local} = {prepare};")
    actual = _expr(f, tree.actual) if tree.actual else f"_n{local}"
    prepare = (
        f"const int64_t _n{local} = {count};\n"
        f"const dt::Data {local} = dt::tree::prepare_out((const void*){place.name}, _n{local}, {number});"
    )
    written = f"dt::at_most({actual}, _n{local}), {number}, {stride}, {outer}"
    fill = f"dt::tree::fill(_t, {place.at}, _out, (const void*){place.name}, {written});"
    return _Captured(local, prepare, fill, may_be_large=True)


def _has_trees(f: Function) -> bool:
    return any(isinstance(p.data, Tree | TemplateData) for p in f.command.params)


def _is_outer(f: Function) -> bool:
    """Tell whether the rules of structures that the command takes read its other parameters."""
    for param in f.command.params:
        if isinstance(param.data, Tree):
            command = generate_trees.outer_command(f.api.structs[param.type.base], f.api)
            if command is not None and f.name in (command.name, command.alias):
                return True
    return False


def _outer_values(f: Function) -> str:
    return ", ".join(f"(uint64_t){p.name}" for p in f.command.params)


def _begin(f: Function, name: str, array: Array) -> str:
    return f"dt::ahead({name}, {_expr(f, array.before)})" if array.before else name


def _returned(f: Function, data: Data | None, at: str) -> _Captured:
    """Content behind the return value: its size is known only afterwards, so it is inline up to 16 bytes or a blob."""
    local = _local("")
    match data:
        case String():
            size = "dt::string_bytes((const char*)_result, -1)"
        case Array() as array:
            size = _bytes(f, array, f.command.returns)
        case Struct() as struct:
            size = _expr(f, struct.size) if struct.size else "(int64_t)sizeof(*_result)"
        case _:
            return _Captured(local, f"const dt::Data {local} = dt::unknown_data(nullptr);")
    fill = (
        f"if (_result) dt::fill_out(_t, {at}, _out, (const void*)_result, {size}); else *{at} = dt::nothing({local});"
    )
    return _Captured(local, f"const dt::Data {local} = dt::returned_data();", fill, may_be_large=True)


def _out(local: str, name: str, at: str, bound: str, actual: str) -> _Captured:
    prepare = (
        f"const int64_t _n{local} = {bound};\nconst dt::Data {local} = dt::prepare_out((const void*){name}, _n{local});"
    )
    fill = f"dt::fill_out(_t, {at}, _out, (const void*){name}, dt::at_most({actual}, _n{local}));"
    return _Captured(local, prepare, fill, may_be_large=True)


def _buffer_or_memory(f: Function, place: _Place, binding: str, bytes_: str, *, out: bool) -> _Captured:
    local, name = place.local, place.name
    bound = f"dt::size::bound((int64_t){f.api.enums[binding]})"
    if out:
        prepare = (
            f"const int64_t _n{local} = {bound} || dt::no_address({name}) ? -1 : {bytes_};\n"
            f"const dt::Data {local} = _n{local} < 0 ? dt::offset_data()\n"
            f"    : dt::prepare_out((const void*){name}, _n{local});"
        )
        fill = f"dt::fill_out(_t, {place.at}, _out, (const void*){name}, _n{local});"
        return _Captured(local, prepare, fill, may_be_large=True)
    # Without a buffer most of these read memory only in contexts that still allow it. Elsewhere it is an error that the
    # driver reports, and nobody may follow the pointer.
    refused = "" if binding in (_PACK, _UNPACK) else " || dt::refuses_client_memory(_t)"
    prepare = (
        f"const dt::Data {local} = {bound} || dt::no_address({name}){refused} ? dt::offset_data()\n"
        f"    : dt::prepare(_t, (const void*){name}, {bytes_});"
    )
    return _Captured(local, prepare)


def _compressed_bytes(f: Function, image: CompressedImage) -> str:
    # With the compressed block parameters of the pixel store set, the rows of a rectangle lie apart in memory.
    sides = [p.name for p in f.command.params if p.name in ("width", "height", "depth")]
    if not sides:
        return _expr(f, image.size)
    extent = ", ".join([f"(int64_t){side}" for side in sides] + ["1"] * (3 - len(sides)))
    return f"dt::size::compressed_in(_t, {_expr(f, image.size)}, {extent}, {len(sides)})"


def _expr(f: Function, text: str) -> str:
    return expr.to_cpp(text, f.command, f.api)


def _bytes(f: Function, array: Array, ctype: CType, count: str | None = None) -> str:
    is_struct = not array.element and ctype.indirection == 1 and ctype.scalar == "struct"
    width = f"sizeof({ctype.base})" if is_struct else generate_trees.element_bytes(ctype, array)
    return f"dt::bytes_of({_expr(f, count or array.count)}, {width})"


def _alone(f: Function, attributes: AttributeList) -> str:
    if not attributes.valueless:
        return ""
    tests = " || ".join(f"_a == {f.api.enums[name]}" for name in attributes.valueless)
    return f", [](int64_t _a) {{ return {tests}; }}"
