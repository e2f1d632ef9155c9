"""Read thresholds and constraints of placements from a TOML file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from drawtap.errors import InputError, did_you_mean, read_toml
from drawtap.system.placement import Rules, Thresholds


def load_rules(path: Path | None) -> tuple[Thresholds, Rules]:
    """Return thresholds and rules from a TOML file; without one, the defaults.

    Tables: [thresholds] and [placement] with the fields of `Thresholds` and `Rules`; [[together]],
      [[apart]] with `vms`;
    [vms.NAME] with `memory_mb`, `vgpu`, `pinned`; [hosts.NAME] with `memory_mb`, `gpu`.
    """
    if path is None:
        return Thresholds(), Rules()
    content = read_toml(path)
    known = ("thresholds", "placement", "together", "apart", "vms", "hosts")
    for key in content:
        if key not in known:
            raise InputError(
                f"{path}: {key} means nothing", hint=did_you_mean(key, known) or f"there are: {', '.join(known)}"
            )
    numbers = ("overcommit", "migration_cost_s", "least_gain_s", "gpu_weight", "max_moves")
    thresholds = replace(Thresholds(), **_numbers(path, content, "thresholds", {f.name for f in fields(Thresholds)}))
    chosen = _numbers(path, content, "placement", numbers)
    if "max_moves" in chosen:
        chosen["max_moves"] = int(chosen["max_moves"])
    vms, hosts = (_named(path, content, key) for key in ("vms", "hosts"))
    rules = Rules(
        **chosen,
        together=_sets(path, content, "together"),
        apart=_sets(path, content, "apart"),
        pinned=frozenset(n for n, v in vms.items() if v.get("pinned")),
        vgpus={n: int(_number(path, v["vgpu"])) for n, v in vms.items() if "vgpu" in v},
        memory_mb={n: _number(path, v["memory_mb"]) for n, v in vms.items() if "memory_mb" in v},
        host_memory_mb={n: _number(path, v["memory_mb"]) for n, v in hosts.items() if "memory_mb" in v},
        without_gpu=frozenset(n for n, v in hosts.items() if v.get("gpu") is False),
    )
    _check(path, thresholds, rules)
    return thresholds, rules


def _check(path: Path, thresholds: Thresholds, rules: Rules) -> None:
    shares = (thresholds.cpu_enter, thresholds.cpu_leave, thresholds.gpu_enter, thresholds.gpu_leave, thresholds.least)
    if not all(0 <= s <= 1 for s in shares) or thresholds.window_ms < 1:
        raise InputError(f"{path}: thresholds are shares from 0 to 1, window_ms is 1 or more")
    if thresholds.cpu_leave > thresholds.cpu_enter or thresholds.gpu_leave > thresholds.gpu_enter:
        raise InputError(f"{path}: *_leave is above *_enter")
    if rules.overcommit is not None and rules.overcommit <= 0:
        raise InputError(f"{path}: overcommit is above 0")


def _numbers(path: Path, content: Mapping[str, Any], key: str, known: Iterable[str]) -> dict[str, Any]:
    table = content.get(key, {})
    if not isinstance(table, dict):
        raise InputError(f"{path}: {key} is no table")
    for name in table:
        if name not in known:
            raise InputError(
                f"{path}: {key}.{name} means nothing",
                hint=did_you_mean(name, known) or f"there are: {', '.join(sorted(known))}",
            )
    return {name: _number(path, value) for name, value in table.items()}


def _number(path: Path, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{path}: {value!r} is no number")
    return float(value)


def _named(path: Path, content: Mapping[str, Any], key: str) -> dict[str, dict[str, Any]]:
    table = content.get(key, {})
    if not isinstance(table, dict) or not all(isinstance(v, dict) for v in table.values()):
        raise InputError(f"{path}: {key} is no table of tables", hint=f"[{key}.NAME]")
    return table


def _sets(path: Path, content: Mapping[str, Any], key: str) -> tuple[frozenset[str], ...]:
    entries = content.get(key, [])
    good = isinstance(entries, list) and all(isinstance(e, dict) and isinstance(e.get("vms"), list) for e in entries)
    if not good:
        raise InputError(f"{path}: {key} is no array of tables with `vms`", hint=f"[[{key}]]\nvms = ['VM-1', 'VM-2']")
    return tuple(frozenset(map(str, e["vms"])) for e in entries)
