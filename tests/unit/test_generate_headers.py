"""The headers that the registries give to C++: every enumerant by its value, every function by its type."""

from __future__ import annotations

import re

from drawtap.instrument import generate_driver, generate_headers
from drawtap.spec.registry import load_api


def test_every_enumerant_is_a_constant_of_its_value() -> None:
    for name in generate_headers.APIS:
        text = generate_headers.headers()[f"{name}_enums.h"]
        declared = dict(re.findall(r"^constexpr u?int(?:32|64)_t (\w+) = (\S+);$", text, re.MULTILINE))
        assert {key: int(value, 0) for key, value in declared.items()} == load_api(name).enums


def test_every_function_is_typed_and_numbered() -> None:
    header = generate_headers.headers()["driver_functions.h"]
    declared = dict(re.findall(r"^DT_FUNCTION\((\w+), (.*)\)$", header, re.MULTILINE))
    names = {name for api in generate_driver.APIS for name in load_api(api).commands}
    assert declared.keys() == names
    plain = re.compile(r"(const|void|char|float|double|u?int(8|16|32|64)_t|[\s*(),])*")
    assert [f"{name}: {kind}" for name, kind in declared.items() if not plain.fullmatch(kind)] == []
    assert declared["glShaderSource"] == "void(uint32_t, int32_t, const char*const*, const int32_t*)"
    assert declared["glXChooseFBConfig"] == "void**(void*, int32_t, const int32_t*, int32_t*)"
    table = generate_driver.table({"glFlush": 0, "glFinish": 1})
    assert "glFinish{1};" in table
    assert "glClear{2};" in table  # none of the module's
