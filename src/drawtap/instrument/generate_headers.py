"""Generate the headers that the registries give to all of C++: enumerants by name, and the functions of drivers.

`gl_enums.h`, `egl_enums.h`, `glx_enums.h` and `vg_enums.h` hold every enumerant of a registry as a constant. One header
an API: sources that include a system's header with the same names (`EGL/egl.h`) take the other APIs' alone.
`driver_functions.h` has every command with its type, for the table of driver functions (native/mirror/driver.h).
"""

from __future__ import annotations

from functools import cache

from drawtap.instrument import generate_driver
from drawtap.instrument.generate import command_line, write_files
from drawtap.spec.model import Api
from drawtap.spec.registry import load_api, recorded_apis

APIS = recorded_apis()


@cache
def headers() -> dict[str, str]:
    """Return the headers' text by file name."""
    enums = {f"{name}_enums.h": header(load_api(name)) for name in APIS}
    return {**enums, "driver_functions.h": generate_driver.header()}


def header(api: Api) -> str:
    """Return the header with the enumerants of one API, in the order of their values."""
    lines = [f"// Generated from the registry of {api.name}.", "#pragma once", "#include <cstdint>"]
    for name, value in sorted(api.enums.items(), key=lambda pair: (pair[1], pair[0])):
        kind = "uint32_t" if 0 <= value < 1 << 32 else "uint64_t" if value >= 0 else "int32_t"
        lines.append(f"constexpr {kind} {name} = {f'0x{value:04X}' if value >= 0 else value};")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the headers: `python -m drawtap.instrument.generate_headers --output DIR`."""
    write_files(command_line(main.__doc__).parse_args().output, headers())


if __name__ == "__main__":
    main()
