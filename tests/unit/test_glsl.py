"""Operations of shaders, counted by hand and by the module."""

from __future__ import annotations

import shutil
import struct

import pytest

from drawtap.analysis import glsl
from drawtap.analysis.glsl import Cost

MAIN = "void main() {{ {} }}"


def _cost(body: str, before: str = "") -> Cost:
    return glsl.cost(before + MAIN.format(body))


class TestOperations:
    @pytest.mark.parametrize(
        ("body", "operations"),
        [
            ("", 0),
            ("x = a;", 0),
            ("x = a + b * c;", 2),
            ("x += vec4(1.0, 0.5, 0.0, 1.0);", 1),
            ("x = -a;", 1),
            ("x = dot(normalize(a), b);", 2),
            ("x = a < b ? c : d;", 2),
            ("x = 1e-3 + .5e+2 - 0x1F;", 2),
            ("i++; x <<= 2;", 2),
            ("x = m[2].xyz;", 0),
        ],
    )
    def test_operators_and_built_in_functions_are_one_each(self, body: str, operations: int):
        assert _cost(body).operations == operations

    def test_fetches_are_calls_that_read_textures_or_images(self):
        found = _cost(
            "x = texture2D(t, c) + textureLod(u, c, 0.0) + texelFetch(v, i, 0); y = imageLoad(w, i); "
            "z = textureSize(u, 0);"
        )
        assert found == Cost(operations=4 + 2 + 1, fetches=4)

    def test_a_function_counts_where_it_is_called(self):
        before = "float twice(float x) { return x * 2.0; } float four(float x) { return twice(twice(x)); }\n"
        assert _cost("y = four(a) + twice(b);", before).operations == 2 + 1 + 1
        assert _cost("y = a;", before).operations == 0

    def test_branches_and_discards_are_said(self):
        assert _cost("if (a > b) discard; else x = a * b;") == Cost(operations=3, branches=1, discards=1)

    def test_without_a_main_there_is_nothing(self):
        assert glsl.cost("float f() { return 1.0 + 2.0; }") == Cost()
        assert glsl.cost("") == Cost()


class TestLoops:
    @pytest.mark.parametrize(
        ("head", "runs"),
        [
            ("int i = 0; i < 8; i++", 8),
            ("int i = 0; i <= 8; ++i", 9),
            ("int i = 8; i > 0; i--", 8),
            ("int i = 0; i < 9; i += 2", 5),
            ("float i = 1.0; i < 4.0; i++", 3),
            ("int i = 0; i < COUNT; i++", 5),
        ],
    )
    def test_plain_bounds_multiply(self, head: str, runs: int):
        # Of the head, a comparison and a step.
        found = _cost(f"for ({head}) x *= y;", "const int COUNT = 5;\n")
        assert found == Cost(operations=3 * runs, loops=1)

    def test_loops_in_loops_multiply(self):
        body = "for (int i = 0; i < 3; i++) { for (int k = 0; k < 4; k++) x += texture(t, c); }"
        found = _cost(body)
        assert found.fetches == 12
        assert found.operations == 3 * (2 + 4 * (2 + 2))
        assert (found.loops, found.unbounded) == (2, 0)

    @pytest.mark.parametrize(
        "loop", ["for (int i = 0; i < n; i++) x += y;", "while (x < y) x += y;", "for (;;) { x += y; break; }"]
    )
    def test_others_count_once_and_are_said(self, loop: str):
        found = _cost(loop)
        assert found.unbounded == 1
        assert 1 <= found.operations <= 3

    def test_a_step_the_wrong_way_is_not_bounded(self):
        assert _cost("for (int i = 0; i < 8; i--) x += y;").unbounded == 1


class TestPreprocessor:
    def test_conditions_choose(self):
        source = """#version 300 es
#define SAMPLES 4
#if defined(GL_ES) && __VERSION__ >= 300 && SAMPLES * 2 == 8
#define PICK texture(t, c)
#elif 1
#define PICK vec4(1.0 + 1.0 + 1.0)
#else
#error no
#endif
#ifdef NOTHING
nonsense {
#endif
void main() { for (int i = 0; i < SAMPLES; i++) x += PICK; }
"""
        assert glsl.cost(source) == Cost(operations=4 * 4, fetches=4, loops=1)

    def test_macros_with_parameters_expand(self):
        source = "#define MUL(a, b) ((a) * (b))\n#define SQUARE(x) MUL(x, x)\nvoid main() { y = SQUARE(a + b); }"
        assert glsl.cost(source).operations == 3

    def test_a_macro_in_itself_ends(self):
        assert glsl.cost("#define f(x) f(x + 1)\nvoid main() { y = f(2); }").operations == 2

    def test_comments_and_lines_that_go_on_are_none(self):
        source = "void main() { // a * b\n /* c + d\n */ x = a \\\n + b; }"
        assert glsl.cost(source).operations == 1

    @pytest.mark.parametrize(
        "source", ["#if", "#if (1", "#endif", "#define", "}}}", "void main() {", "for (", "#if 1/0\n"]
    )
    def test_what_is_broken_is_no_error(self, source: str):
        glsl.cost(source)

    @pytest.mark.parametrize(
        ("source", "version", "es"),
        [
            ("precision mediump float; void main() {}", 100, True),
            ("void main() {}", 110, False),
            ("// #version 450\n#version 310 es\n", 310, True),
            ("#version 430 compatibility\n", 430, False),
        ],
    )
    def test_the_language_is_known(self, source: str, version: int, es: bool):
        assert glsl.language(source) == (version, es)


class TestSpirv:
    def test_instructions_of_functions_are_counted(self):
        def one(opcode: int, *words: int) -> list[int]:
            return [(len(words) + 1) << 16 | opcode, *words]

        words = [0x07230203, 0x10000, 0, 20, 0]
        words += one(17, 1) + one(19, 2)  # a capability, a type
        words += one(54, 2, 3, 0, 4) + one(248, 5) + one(59, 6, 7, 7)  # a function, a label, a variable
        words += one(61, 6, 8, 7) + one(87, 6, 9, 8, 8) + one(129, 6, 10, 9, 9) + one(253) + one(56)
        assert glsl.counted(struct.pack(f"<{len(words)}I", *words)) == glsl.Spirv(4, 1)

    @pytest.mark.parametrize("module", [b"", b"\0" * 40, struct.pack("<6I", 0x07230203, 0, 0, 0, 0, 0)])
    def test_what_is_none_says_so(self, module: bytes):
        assert glsl.counted(module).why

    def test_older_languages_have_none(self):
        assert glsl.spirv("void main() {}", "fragment").why == "GLSL 1.10: SPIR-V begins with 3.30"

    def test_without_glslang_it_says_what_is_missing(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PATH", "")
        assert "glslang-tools" in glsl.spirv("#version 450\nvoid main() {}", "fragment").why

    @pytest.mark.skipif(shutil.which(glsl.GLSLANG) is None, reason="glslang-tools is not installed")
    def test_glslang_makes_some(self):
        source = (
            "#version 310 es\nprecision highp float;\nuniform sampler2D t; in vec2 c; out vec4 o;\n"
            "void main() { o = texture(t, c) * 2.0; }\n"
        )
        found = glsl.spirv(source, "fragment")
        assert found.fetches == 1
        assert found.instructions is not None
        assert 5 <= found.instructions <= 10
        assert glsl.spirv("#version 310 es\nvoid main() { x = 1; }", "fragment").why
