"""`drawtap plugins`: what is built in and what was added."""

from __future__ import annotations

import importlib

from drawtap.commands import COMMANDS, command
from drawtap.view.result import Rows

_WITH_REGISTRIES = ("drawtap.formats", "drawtap.replay.engine", "drawtap.analysis.rule", "drawtap.system.driver",
                    "drawtap.system.reader", "drawtap.system.recorder", "drawtap.system.rule")  # fmt: skip


@command(section="know", examples=("drawtap plugins", "drawtap plugins --json"))
def plugins() -> Rows:
    """Print the parts that can be added, and their origin.

    Other distributions add theirs with the entry-point group drawtap.plugins.
    """
    from drawtap.plugins import all_registries

    COMMANDS.names()
    for module in _WITH_REGISTRIES:
        importlib.import_module(module)
    rows = []
    for registry in all_registries():
        for name, entry in registry.items():
            inner = getattr(entry, "function", entry)
            module = str(getattr(inner, "__module__", type(entry).__module__))
            rows.append((registry.kind, name, module, "drawtap" if module.startswith("drawtap.") else "added"))
    return Rows(("kind", "name", "module", "from"), sorted(rows))
