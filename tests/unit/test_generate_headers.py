"""The headers that name enumerants in C++: every enumerant of the registries once, as a constant of its value."""

from __future__ import annotations

import re

from drawtap.instrument import generate_enums
from drawtap.spec.registry import load_api


def test_every_enumerant_is_a_constant_of_its_value() -> None:
    for name in generate_enums.APIS:
        text = generate_enums.headers()[f"{name}_enums.h"]
        declared = dict(re.findall(r"^constexpr u?int(?:32|64)_t (\w+) = (\S+);$", text, re.MULTILINE))
        assert {key: int(value, 0) for key, value in declared.items()} == load_api(name).enums
