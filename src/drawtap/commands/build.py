"""`drawtap build`: compile a module with a user's hooks, or show what is generated for a function."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError
from drawtap.output.result import Facts, Text


@command(
    section="live",
    examples=(
        "drawtap build hooks.py -o libhooks.so",
        "drawtap build my-module/ --api gles2 --version 3.1 --ext GL_EXT_disjoint_timer_query",
        "drawtap build hooks.py --api glsc2 --sources out/        # the C++ alone",
        "drawtap build --show glDrawElements",
        "drawtap build --include    # the folder for cc -I: drawtap.h has DRAWTAP_VALUE and DRAWTAP_PROBE",
    ),
)
def build(
    script: Annotated[
        str | None, Opt("A script, a folder with hooks.py and C++ sources, or one of drawtap's modules.")
    ] = None,
    *,
    module: Annotated[tuple[str, ...], Opt("One more script; its hooks run inside the first's.", "-m", "SCRIPT")] = (),
    output: Annotated[Path | None, Opt("Copy the library here.", "-o", "FILE")] = None,
    api: Annotated[
        str, Opt("Hook only the functions of this API: gl gles1 gles2 glsc2 vg egl glx.", metavar="API")
    ] = "",
    version: Annotated[str, Opt("The newest version of it that counts: 3.1.", metavar="NUMBER")] = "",
    profile: Annotated[str, Opt("core or compatibility.", metavar="NAME")] = "",
    ext: Annotated[tuple[str, ...], Opt("Functions of this extension too; may be repeated.", metavar="NAME")] = (),
    sources: Annotated[Path | None, Opt("Write the generated C++ here and compile nothing.", metavar="FOLDER")] = None,
    show: Annotated[
        str | None, Opt("Print the C++ that stands between a program and this function.", metavar="NAME")
    ] = None,
    include: Annotated[bool, Opt("Print the folder of probe.h, for programs of your own.")] = False,
) -> Facts | Text:
    """Build a module with hooks of your own, or show generated code.

    An instrumentation script says in Python which C++ goes before and after which functions; drawtap run puts the
    module into a program. It is compiled once per content and kept in a cache. Mistakes in the C++ of a script are
    reported with the script's lines. With --show, print the code around one function: of the script's module, or
    without a script of drawtap's own tap.
    """
    from drawtap.instrument import generate, user_module
    from drawtap.instrument.generate_module import Target, generate_module
    from drawtap.instrument.module import build_projects
    from drawtap.output.progress import say_compiling

    if include:
        return Text(str(generate.runtime_folder() / "user"))
    if script is None:
        if show is None:
            raise UsageError("what should be built?", hint="drawtap build hooks.py, or --show glDrawElements")
        return Text(generate.show(show))
    projects = [user_module.project(name) for name in (script, *module)]
    target = Target(api, version, profile, ext)
    made = generate_module(projects, target)
    if show is not None:
        return Text(user_module.shown(made, show))
    facts: dict[str, object] = {"functions_hooked": len(made.hooked), "functions_wrapped": len(made.functions)}
    if sources is not None:
        user_module.write(made, sources)
        facts["sources"] = str(sources)
    else:
        library = build_projects(projects, target, say_compiling).library
        facts["library"] = str(library if output is None else user_module.copy(library, output))
    return Facts({**facts, "functions": list(made.hooked)}, {"module": facts})
