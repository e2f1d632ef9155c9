"""Generate what the OpenVG engine needs from the specification: C headers of OpenVG and VGU, forwards of EGL.

Khronos publishes OpenVG as headers only, and no distribution carries them with the ABI of Khronos. So they are made
from the registry file: for the engine itself, for programs that use it, and for exported C source.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from drawtap.instrument.generate import command_line, write_files
from drawtap.spec.model import Api, Command
from drawtap.spec.registry import load_api


def _prototype(command: Command, name: str = "") -> str:
    params = ", ".join(f"{param.type.spelling} {param.name}".replace("* ", "*") for param in command.params) or "void"
    return f"{command.returns.spelling} {name or command.name}({params})".replace("* ", "*")


def _provided(api: Api, prefixes: tuple[str, ...]) -> list[Command]:
    return [
        command
        for command in api.commands.values()
        if any(name.startswith(prefix) for name in command.provided_by for prefix in prefixes)
    ]


def _header(guard: str, body: Iterable[str], *, includes: Iterable[str] = ()) -> str:
    lines = [
        "/* Made from drawtap's registry file of OpenVG; names and values are as in the Khronos headers. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        *[f"#include {name}" for name in includes],
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        *body,
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _prototypes(commands: Iterable[Command]) -> list[str]:
    return [f"VG_API_CALL {_prototype(command)};" for command in commands]


def _pointers(commands: Iterable[Command]) -> list[str]:
    """Types of what `eglGetProcAddress` returns for them."""
    return [f"typedef {_prototype(command, f'(VG_API_ENTRYP PFN{command.name.upper()}PROC)')};" for command in commands]


def _defines(api: Api, *, utility: bool) -> list[str]:
    names = (name for name in api.enums if name.startswith("VGU_") == utility)
    return [f"#define {name} {api.enums[name]:#x}" for name in names]


def headers(api: Api) -> dict[str, str]:
    """Return the texts of `VG/openvg.h`, `VG/vgext.h`, `VG/vgu.h` and `VG/vgplatform.h` by name."""
    platform = [
        line
        for library in ("VG", "VGU")
        for line in (
            f"#ifndef {library}_API_CALL",
            f'#define {library}_API_CALL __attribute__((visibility("default")))',
            "#endif",
            f"#define {library}_API_ENTRY",
            f"#define {library}_API_ENTRYP {library}_API_ENTRY *",
            f"#define {library}_API_EXIT",
        )
    ]
    core = [
        "#define OPENVG_VERSION_1_0 1",
        "#define OPENVG_VERSION_1_0_1 1",
        "#define OPENVG_VERSION_1_1 2",
        "#define VG_MAX_ENUM 0x7FFFFFFF",
        *(line for line in api.typedefs.splitlines() if line.strip()),
        *(
            f"typedef unsigned int {name};"
            for name in api.groups
            if name.startswith("VG") and f" {name};" not in api.typedefs
        ),
        *_defines(api, utility=False),
        *_prototypes(_provided(api, ("VG_VERSION",))),
    ]
    extended = [
        command
        for command in api.commands.values()
        if not any(name.startswith(("VG_VERSION", "VGU_VERSION")) for name in command.provided_by)
    ]
    extensions = [
        *(f"#define {extension.name} 1" for extension in api.extensions),
        *_prototypes(extended),
        *_pointers(extended),
    ]
    utility = [
        "#define VGU_VERSION_1_0 1",
        "#define VGU_VERSION_1_1 2",
        *_defines(api, utility=True),
        *_prototypes(_provided(api, ("VGU_VERSION",))),
    ]
    return {
        "VG/vgplatform.h": _header("DRAWTAP_VG_VGPLATFORM_H", platform),
        "VG/openvg.h": _header("DRAWTAP_VG_OPENVG_H", core, includes=["<VG/vgplatform.h>"]),
        "VG/vgext.h": _header("DRAWTAP_VG_VGEXT_H", extensions, includes=["<VG/openvg.h>"]),
        "VG/vgu.h": _header("DRAWTAP_VG_VGU_H", utility, includes=["<VG/openvg.h>"]),
    }


def egl_forwards(egl: Api, replaced: frozenset[str]) -> str:
    """Return a C++ list of the EGL commands that the front layer hands on unchanged: `FORWARD(name)`, one a line."""
    return "".join(f"FORWARD({name})\n" for name in egl.commands if name not in replaced)


def main() -> None:
    """Write the headers and `egl_forwards.inc` into a folder; the command line that CMake calls."""
    parser = command_line(main.__doc__)
    parser.add_argument("--front", type=Path, help="the source whose `REPLACED(name)` are not forwarded")
    options = parser.parse_args()
    files = headers(load_api("vg"))
    if options.front:
        text = options.front.read_text()
        replaced = frozenset(name for name in load_api("egl").commands if f" {name}(" in text)
        files["egl_forwards.inc"] = egl_forwards(load_api("egl"), replaced)
    write_files(options.output, files)


if __name__ == "__main__":
    main()
