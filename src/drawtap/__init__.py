"""Tap the calls between a program and its graphics driver; what is seen becomes a database.

    import drawtap

    with drawtap.open("game.dtap") as trace:
        print(trace.sql("SELECT name, count(*) FROM calls GROUP BY name"))
        trace.frames[10].image().save("frame.png")

`open` opens a recording, `record` makes one, `edit` changes one, `view` opens the viewer. `drawtap.verbs` has the verbs
of the command line.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for that of typing, which takes long to load

__version__ = "0.1.0"
__all__ = ["DrawtapError", "Image", "Trace", "__version__", "edit", "image", "open", "record", "view"]

if TYPE_CHECKING:
    from drawtap.capture.python import record
    from drawtap.errors import DrawtapError
    from drawtap.replay.picture import image
    from drawtap.trace.edit import edit
    from drawtap.trace.image import Image
    from drawtap.trace.trace import Trace
    from drawtap.trace.trace import open_trace as open  # noqa: A004
    from drawtap.web.viewer import view

# The reader loads DuckDB and a native library: only when asked for. Not even errors are loaded before: `__main__`
# begins to load DuckDB first.
_LAZY = {
    "DrawtapError": ("drawtap.errors", "DrawtapError"),
    "Image": ("drawtap.trace.image", "Image"),
    "Trace": ("drawtap.trace.trace", "Trace"),
    "edit": ("drawtap.trace.edit", "edit"),
    "image": ("drawtap.replay.picture", "image"),
    "open": ("drawtap.trace.trace", "open_trace"),
    "record": ("drawtap.capture.python", "record"),
    "view": ("drawtap.web.viewer", "view"),
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'drawtap' has no attribute {name!r}")
    import importlib

    module, attribute = _LAZY[name]
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*__all__, "verbs", "errors"})
