"""Modules: the shared libraries that go into applications, shipped or built from hooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drawtap.instrument import generate
from drawtap.instrument.compile import compile_module
from drawtap.instrument.hook import Hooks


@dataclass(frozen=True)
class Module:
    """A tap library and the signature file that belongs to it."""

    library: Path
    signatures: Path


def build(name: str, apis: Sequence[str], hook_sets: Sequence[Hooks] | None = None) -> Module:
    """Generate and compile a module for `apis` with `hook_sets` (default: the recorder), or take it from the cache."""
    sources = generate.generate(tuple(apis), hook_sets)
    runtime = generate.runtime_folder()
    folder = compile_module(
        name,
        sources.files,
        sorted(p for p in runtime.iterdir() if p.suffix in (".cc", ".S")),
        [runtime, runtime.parent / "common", runtime.parent / "third_party"],
    )
    return Module(folder / f"libdrawtap-{name}.so", folder / f"{name}.sig")
