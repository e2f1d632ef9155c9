"""A rule: a question about a trace whose answer is a verdict with evidence, a reason and advice.

One file a rule in `rules/`. The decorated function returns the question as SQL; its docstring says why the answer
matters. Every row of the answer is evidence of a finding, no row is a pass::

    @rule(title="Shaders compile while frames are drawn", severity="warning", fix="Compile before the first frame.")
    def shader_compiles() -> str:
        '''A compile takes milliseconds, in which no frame is drawn.'''
        return 'SELECT seq, duration AS ns FROM "glCompileShader" WHERE frame > 0'

Columns of a row, of which `seq` or `frame` is enough: `seq` (the call), `frame`, `what` (a few words; without it the
text of the call), `n` (the number of calls of the row; without it 1 where there is `seq`), `frames` (a list of the
frames of these calls, where `frame` is only the first), `ns` and `bytes` (what they took). Thresholds belong into the
question. Tables are those of `drawtap sql`, every API function (empty where it was not called, together with
its twins of extensions), and the views of `drawtap.analysis.views`. Enumerants of `drawtap.analysis.enumerants` have
their names: `s.stage = GL_VERTEX_SHADER`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field

from drawtap.analysis.enumerants import numbered
from drawtap.plugins import Registry

SEVERITIES = ("note", "warning", "error")
HARDWARE = {
    "all": "every GPU",
    "tiled": "GPUs that draw tile by tile: phones, tablets, embedded systems",
    "desktop": "GPUs that draw at once, with memory of their own",
    "software": "renderers on the CPU",
}
CLASSES = {
    "usage": "API usage",
    "content": "content complexity",
    "engine": "graphics engine",
    "other": "not graphics",
}
APIS = {"gl": "OpenGL or OpenGL ES", "vg": "OpenVG", "egl": "EGL", "vk": "Vulkan", "any": "any API"}


@dataclass(frozen=True)
class Rule:
    """A registered rule.

    `concerns` is the class of quality problem of a finding (CLASSES), `hardware` the hardware with this problem.
    `needs` lists the contents that the rule requires of a trace: `frames` (three at least), `timing` (durations of
    calls), `draws`, or names of tables. `api` is the API of its calls. `original` marks an item of the checklist in
    Kyostila's thesis.
    """

    id: str
    title: str
    severity: str
    fix: str
    hardware: tuple[str, ...]
    concerns: str
    needs: tuple[str, ...]
    api: str
    original: str | None
    function: Callable[[], str] = field(repr=False)

    @property
    def why(self) -> str:
        """Why a finding matters: the docstring."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def question(self) -> str:
        """The question, in SQL."""
        return numbered(self.function())

    def is_for(self, hardware: str | None) -> bool:
        """Tell whether a finding matters on `hardware`; None: somewhere."""
        return hardware is None or "all" in self.hardware or hardware in self.hardware


RULES: Registry[Rule] = Registry("rule", "drawtap.analysis.rules")


def rule(
    *,
    title: str,
    fix: str,
    severity: str = "warning",
    hardware: tuple[str, ...] = ("all",),
    concerns: str = "usage",
    needs: tuple[str, ...] = (),
    api: str = "gl",
    original: str | None = None,
) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Register the decorated function as a rule; its name, with dashes, is the rule's id."""
    for value, known in ((severity, SEVERITIES), (concerns, CLASSES), (api, APIS)):
        if value not in known:
            raise ValueError(f"{value!r} is none of {', '.join(known)}")
    for value in hardware:
        if value not in HARDWARE:
            raise ValueError(f"{value!r} is none of {', '.join(HARDWARE)}")

    def add(function: Callable[[], str]) -> Callable[[], str]:
        identity = function.__name__.strip("_").replace("_", "-")
        made = Rule(identity, title, severity, fix, hardware, concerns, needs, api, original, function)
        RULES.register(identity)(made)
        return function

    return add
