"""Texts of shaders that count: what has to stand in them before a driver sees them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

METRICS = Path(__file__).parents[2] / "native" / "player" / "metrics"
MAIN = """
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <iostream>
#include "shader_text.h"
using namespace dt::play::metrics;
int main(int, char** given) {
  ShaderLanguage language;
  language.es = atoi(given[1]), language.version = atoi(given[2]), language.placed = atoi(given[3]);
  language.binding = 7, language.counts = ShaderLanguage::PIXELS, language.quads = given[4] != nullptr;
  language.has_extension = [](const char*) { return true; };
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const CountingText made = counting_text(text, true, language);
  printf("%s%s\\n// %d reads\\n", made.why.c_str(), made.text.c_str(), made.per_run);
  const std::string vertex = "#version 120\\nvoid main() { gl_Position = vec4(0.0); }";
  if (language.placed) printf("\\n----\\n%s", placed_text(vertex, language).c_str());
}
"""
PLAIN = "uniform vec4 color;\nvoid main() { gl_FragColor = color; }\n"
BLOCKS = "#extension GL_ARB_shader_storage_buffer_object : require"
EARLY = "layout(early_fragment_tests) in;"


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("shader-text")
    (folder / "main.cc").write_text(MAIN)
    sources = [str(METRICS / f"{name}.cc") for name in ("shader_text", "shader_words")]
    command = [compiler, "-std=c++20", f"-I{METRICS}", str(folder / "main.cc"), *sources]
    subprocess.run([*command, "-o", str(folder / "made")], check=True, timeout=300)
    return folder / "made"


def _made(
    counting: Path, text: str, *, es: bool = False, version: int = 45, placed: bool = False, quads: bool = False
) -> list[str]:
    command = [str(counting), str(int(es)), str(version), str(int(placed)), *["quads"] * quads]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize("version", ["", "#version 110\n", "#version 330\n"])
def test_old_desktop_shaders_become_new_ones_that_run_behind_the_tests(counting: Path, version: str):
    lines = _made(counting, version + PLAIN)
    assert lines[:2] == ["#version 430 compatibility", EARLY]
    assert not [line for line in lines[1:] if line.startswith("#version")]
    assert "GLSL 4.30" in _made(counting, version + PLAIN, version=42)[0]


def test_what_discards_runs_before_the_tests(counting: Path):
    lines = _made(counting, "void main() { if (gl_FragCoord.x < 9.0) discard; gl_FragColor = vec4(1.0); }\n")
    assert BLOCKS in lines and EARLY not in lines


def test_new_shaders_have_it_all(counting: Path):
    assert not [line for line in _made(counting, "#version 430\n" + PLAIN) if line.startswith("#extension")]
    assert not [line for line in _made(counting, "precision mediump float;\n" + PLAIN, es=True) if "#extension" in line]


def test_where_to_count_comes_from_the_vertex_shader(counting: Path):
    lines = _made(counting, "#version 430\n" + PLAIN, placed=True)
    vertex = lines[lines.index("----") + 1 :]
    assert "flat in ivec4 dt_at;" in lines and not [line for line in lines if line.startswith("uniform ivec4")][1:]
    assert vertex[:2] == ["#version 120", "#extension GL_EXT_gpu_shader4 : require"]
    assert {"uniform ivec4 dt_place;", "flat varying ivec4 dt_at;", "  dt_at = dt_place;"} <= set(vertex)


@pytest.mark.parametrize(
    ("body", "reads"),
    [
        ("gl_FragColor = vec4(1.0);", 0),
        ("gl_FragColor = texture2D(s, vec2(0.0)) + texture2D(s, vec2(0.5)); /* if */", 2),
        ("if (gl_FragCoord.x < 1.0) gl_FragColor = texture2D(s, vec2(0.0));", -1),
        ("for (int i = 0; i < 3; i++) gl_FragColor += texture2D(s, vec2(0.0));", -1),
        ("gl_FragColor = gl_FragCoord.x < 1.0 ? texture2D(s, vec2(0.0)) : vec4(0.0);", -1),
        ("bool b = gl_FragCoord.x < 1.0 && texture2D(s, vec2(0.0)).x > 0.5;", -1),
        ("discard; gl_FragColor = texture2D(s, vec2(0.0));", -1),
        ("vec4 c = texture2D(s, vec2(0.0)); if (c.w < 0.5) discard; gl_FragColor = c;", 1),
        ("if (gl_FragCoord.x < 1.0) return; gl_FragColor = texture2D(s, vec2(0.0)); discard;", -1),
        ("vec4 c = texture2D(s, vec2(0.0)); if (c.x < 1.0) c = texture2D(s, vec2(0.5)); gl_FragColor = c;", -1),
        ("\n#ifdef GL_ES\ngl_FragColor = texture2D(s, vec2(0.0));\n#endif\n", -1),
    ],
)
def test_reads_of_a_run_are_known_where_no_run_can_differ(counting: Path, body: str, reads: int):
    lines = _made(counting, "uniform sampler2D s;\nvoid main() {\n" + body + "\n}\n")
    assert f"// {reads} reads" in lines


@pytest.mark.parametrize(
    "helper",
    [
        "vec4 read() { return texture2D(s, vec2(0.0)); }\n",
        "#define MAYBE(x) if (x) gl_FragColor = texture2D(s, vec2(0.0))\n",
    ],
)
def test_reads_of_a_run_are_not_known_where_functions_or_macros_make_them(counting: Path, helper: str):
    lines = _made(
        counting, "uniform sampler2D s;\n" + helper + "void main() { gl_FragColor = texture2D(s, vec2(0.0)); }\n"
    )
    assert "// -1 reads" in lines


def test_two_by_two_pixels_take_a_new_shader_that_discards_nothing(counting: Path):
    lines = _made(counting, "#version 430\n" + PLAIN, quads=True)
    assert lines[0] == "#version 450 compatibility" and any("gl_HelperInvocation" in line for line in lines)
    assert not [line for line in lines[1:] if line.startswith("#version")]
    discards = _made(
        counting, "void main() { if (gl_FragCoord.x < 9.0) discard; gl_FragColor = vec4(1.0); }\n", quads=True
    )
    assert "discards" in discards[0]
