"""Every verb as a function of Python: what `drawtap stats game.dtap` prints is `verbs.stats(trace)`.

    import drawtap
    from drawtap import verbs

    with drawtap.open("game.dtap") as trace:
        for row in verbs.stats(trace).rows:
            print(row)
        verbs.extract(trace, frames="120", output=Path("frame.dtap"))

They are the very functions that the command line calls; a verb of two words has `_` between them (`system_metrics`).
Options are named arguments. They return data (`drawtap.output.result`): `Rows` has columns and rows, `Written` a
path. Mistakes raise `drawtap.DrawtapError`. Old names of verbs (`commands/toolkit.py`) are functions, too.
`load` is `drawtap.open`, `close` closes what it opened, `help` returns the text of the documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drawtap.commands import COMMANDS, Command
from drawtap.commands.toolkit import OLD_NAMES, find
from drawtap.errors import UsageError, did_you_mean
from drawtap.trace.trace import Trace
from drawtap.trace.trace import open_trace as load

__all__ = ["close", "help", "load"]

# Python has these itself.
_PYTHON_HAS = {
    "python": "runpy.run_path",
    "profiling": "cProfile",
    "quit": "sys.exit",
    "reload": "importlib.reload",
    "shell": "drawtap.prompt.prompt",
}


def close(trace: Trace) -> None:
    """Close a recording that `load` has opened."""
    trace.close()


def help(name: str | None = None) -> str:  # noqa: A001
    """Return what a verb does, or the verbs with what each is for, one a line."""
    if name is not None:
        return _command(name).help
    return "\n".join(f"{name}: {command.summary}" for name, command in COMMANDS.items())


def _command(name: str) -> Command:
    names = {_python_name(verb): verb for verb in (*OLD_NAMES, *COMMANDS.names())}
    verb = find(names.get(_python_name(name), ""))
    if verb is None:
        raise UsageError(
            f"there is no verb called {name!r}", hint=did_you_mean(name, map(_python_name, COMMANDS.names()))
        )
    return verb


def _python_name(verb: str) -> str:
    return verb.replace("-", "_").replace(" ", "_")


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _PYTHON_HAS:
        raise AttributeError(f"{name} is for the prompt: Python has {_PYTHON_HAS[name]}")
    try:
        return _command(name).function
    except UsageError as error:
        raise AttributeError(f"{error.message}; {error.hint}" if error.hint else error.message) from None


def __dir__() -> list[str]:
    verbs = (_python_name(verb) for verb in (*COMMANDS.names(), *OLD_NAMES))
    return sorted({"load", "close", "help", *verbs} - set(_PYTHON_HAS))
