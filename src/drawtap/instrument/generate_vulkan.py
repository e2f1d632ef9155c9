"""Generate the C++ of the tap that records Vulkan beside the other APIs.

It is the standard tap with one more registry: the same runtime and the same numbers of functions, with Vulkan's behind
them. The units of the other APIs' wrappers are therefore shared, and this module writes only what differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drawtap.instrument import generate, generate_driver, generate_trees
from drawtap.instrument.hook import Function, Hooks
from drawtap.instrument.hooks import capture_state, live, recorder
from drawtap.spec import expr
from drawtap.spec.registry import load_api
from drawtap.spec.signature import signature_text

APIS = (*generate.DEFAULT_APIS, "vk")
# The number of units with wrappers of commands that a version has, and of commands that extensions alone have. The
# build names the files before they are made (CMakeLists.txt).
UNITS = {"wrappers_vk": 2, "wrappers_vk_rare": 2}
_MOST_NUMBERS = 2


def sources() -> dict[str, str]:
    """Return the generated files by name."""
    functions = generate.functions_of(APIS)
    numbers = {f.name: f.id for f in functions}
    own = [f for f in functions if f.api.name == "vk"]
    sets = [live.hooks(), capture_state.vulkan_hooks(generate.runtime_folder() / "vulkan"), recorder.hooks()]
    files = {
        "module_vk.h": _header(),
        "tables.cc": generate.tables(functions),
        "driver.cc": generate_driver.table(numbers),
        "trees.cc": generate_trees.tables(load_api("vk")),
        "entries.S": generate.entries(functions, [*generate.default_hooks(), *sets]),
        "tap-vk.sig": signature_text([f.command for f in functions], [load_api(name) for name in APIS], numbers),
    }
    for (stem, count), part in zip(UNITS.items(), _by_use(own), strict=True):
        for number, some in enumerate(_parts(part, count)):
            body = "\n\n".join(_plain(function, sets) or generate.wrapper(function, sets) for function in some)
            files[f"{stem}_{number}.cc"] = f'#include "module_vk.h"\n\n{body}\n'
    return files


def _by_use(functions: Sequence[Function]) -> tuple[list[Function], list[Function]]:
    """Return the functions that programs call often, and the others.

    State of draws is set by extensions, too: zink makes 20 such calls in a frame.
    """
    versions, extensions = generate.by_use(functions, ("vk",))
    often = [f for f in extensions if f.name.startswith(("vkCmdSet", "vkCmdDrawMulti"))]
    return [*versions, *often], [f for f in extensions if f not in often]


def _plain(function: Function, sets: Sequence[Hooks]) -> str:
    """Return the code of a function whose calls are recorded by what many share, "" for any other: see plain.h."""
    command = function.command
    handle, *numbers = command.params or (None,)
    fields = [field.param for field in (*function.layout.w8, *function.layout.w4)]
    if (
        handle is None
        or function.returns_value
        or fields != [param.name for param in command.params]
        or len(function.layout.w8) != 1
        or not 1 <= len(numbers) <= _MOST_NUMBERS
        or any(param.type.scalar not in ("i32", "u32") or param.type.indirection for param in numbers)
        or not generate.is_recorded_only(function, sets)
    ):
        return ""
    values = ", ".join((f"(void*){handle.name}", *(f"(uint32_t){param.name}" for param in numbers), str(function.id)))
    return "\n".join(
        f"DT_INNER {cold}void dt_{way}_{function.name}({command.parameters}) {{ dt::plain::{way}({values}); }}"
        for way, cold in (("enter", ""), ("slow", "DT_COLD "))
    )


def _parts(functions: Sequence[Function], count: int) -> list[Sequence[Function]]:
    each = -(-len(functions) // count)
    return [functions[number * each : (number + 1) * each] for number in range(count)]


def _header() -> str:
    api = load_api("vk")
    functions = capture_state.vulkan_functions(generate.runtime_folder() / "vulkan")
    parts = [
        "// Generated. Types of Vulkan and what its wrappers share.",
        "#pragma once",
        '#include "tap.h"',
        '#include "keep.h"',
        '#include "live.h"',
        '#include "sizes.h"',
        api.typedefs,
        expr.prototypes_to_cpp(),
        expr.tables_to_cpp(api),
        generate_trees.numbers(api),
        '#include "plain.h"',
        '#include "tree.h"',
        '#include "reach.h"',
        "// The tap's facts about Vulkan's objects, before and after the driver's functions.",
        "namespace dt::hook {",
        *(f"void {name}({parameters});" for name, parameters in functions),
        "}",
    ]
    return "\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the sources: `python -m drawtap.instrument.generate_vulkan --output DIR`."""
    options = generate.command_line(main.__doc__).parse_args(arguments)
    folder: Path = options.output
    generate.write_files(folder, sources())


if __name__ == "__main__":
    main()
