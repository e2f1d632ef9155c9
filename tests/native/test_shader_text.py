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
  language.es = atoi(given[1]), language.version = 32, language.binding = 7, language.counts = ShaderLanguage::PIXELS;
  language.has_extension = [](const char*) { return true; };
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const CountingText made = counting_text(text, true, language);
  printf("%s%s", made.why.c_str(), made.text.c_str());
}
"""
PLAIN = "uniform vec4 color;\nvoid main() { gl_FragColor = color; }\n"
BLOCKS = "#extension GL_ARB_shader_storage_buffer_object : require"
EARLY = "#extension GL_ARB_shader_image_load_store : require"


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("shader-text")
    (folder / "main.cc").write_text(MAIN)
    command = [compiler, "-std=c++20", f"-I{METRICS}", str(folder / "main.cc"), str(METRICS / "shader_text.cc")]
    subprocess.run([*command, "-o", str(folder / "made")], check=True, timeout=120)
    return folder / "made"


def _made(counting: Path, text: str, es: bool = False) -> list[str]:
    done = subprocess.run([str(counting), str(int(es))], input=text, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize("version", ["", "#version 110\n", "#version 330\n"])
def test_old_desktop_shaders_ask_for_what_lists_of_pixels_take(counting: Path, version: str):
    lines = _made(counting, version + PLAIN)
    first_code = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    assert {BLOCKS, EARLY} <= set(lines[:first_code])
    assert lines[first_code] == "layout(early_fragment_tests) in;"


def test_what_discards_runs_before_the_tests(counting: Path):
    lines = _made(counting, "void main() { if (gl_FragCoord.x < 9.0) discard; gl_FragColor = vec4(1.0); }\n")
    assert BLOCKS in lines and EARLY not in lines
    assert "layout(early_fragment_tests) in;" not in lines


def test_new_shaders_have_it_all(counting: Path):
    assert not [line for line in _made(counting, "#version 430\n" + PLAIN) if line.startswith("#extension")]
    assert not [line for line in _made(counting, "precision mediump float;\n" + PLAIN, es=True) if "#extension" in line]
