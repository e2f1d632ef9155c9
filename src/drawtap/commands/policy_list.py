"""`drawtap policy list`: the policies that the manager can follow."""

from __future__ import annotations

import dataclasses

from drawtap.commands import command
from drawtap.view.result import Rows


@command(name="policy list", section="live", examples=("drawtap policy list", "drawtap policy list --json"))
def policy_list() -> Rows:
    """List policies, alarms and actions with their settings.

    A policy decides which running program is held back. One more is a file in drawtap/live/policies, or a module of
    another distribution that an entry point in the group drawtap.plugins names. `drawtap policy try` runs one on
    recordings and simulated programs.
    """
    from drawtap.live.alarm import ACTIONS, ALARMS
    from drawtap.live.policy import POLICIES, about, settings_of

    rows = []
    for kind, registry in (("policy", POLICIES), ("alarm", ALARMS), ("action", ACTIONS)):
        for name, made in registry.items():
            settings = ", ".join(
                text if default is dataclasses.MISSING else f"{text} = {_shown(default)}"
                for text, _, default in settings_of(made)
            )
            rows.append((kind, name, about(made).partition("\n\n")[0].replace("\n", " "), settings))
    return Rows(("kind", "name", "what", "settings"), rows)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} {v:g}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)
