"""How often a fragment shader reads textures, by its source."""

from __future__ import annotations

import pytest

from drawtap.analysis.fetches import NotTold, fetches

HEAD = "#ifdef GL_ES\nprecision mediump float;\n#endif\nuniform sampler2D t; varying vec2 v;\n"


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        ("void main() { gl_FragColor = vec4(1.0); }", 0),
        ("void main() { if (v.x > 0.5) discard; gl_FragColor = vec4(1.0); }", 0),
        ("void main() { gl_FragColor = texture2D(t, v); }", 1),
        ("void main() { gl_FragColor = texture2D(t, v) + texture2DProj(t, vec3(v, 1.0)); // texture2D(t, v)\n}", 2),
        ("/* texture2D(t, v) */ out vec4 c; void main() { c = texture(t, v) + texelFetch(t, ivec2(0), 0); }", 2),
        ("vec4 two() { return texture2D(t, v) + texture2D(t, v.yx); }\n"
         "void main() { gl_FragColor = two() + two() * two(); }", 6),
        ("void main() { for (int i = 0; i < 4; i++) gl_FragColor += texture2D(t, v); }", 4),
        ("vec4 a(vec2 p) { return texture2D(t, p); } vec4 b(vec2 p) { return a(p) + a(p.yx); }\n"
         "void main() { gl_FragColor = b(v) + a(v); }", 3),
        ("#if defined(GL_ES) && defined(X)\n#define P highp\n#else\n#define P\n#endif\n#define STEP 0.25\n"
         "varying P vec2 w;\nvoid main() { gl_FragColor = texture2D(t, v * STEP); }", 1),
    ],
)  # fmt: skip
def test_where_every_run_reads_as_often(source, reads):
    assert fetches(HEAD + source) == reads


@pytest.mark.parametrize(
    "body",
    [
        "if (v.x > 0.5) gl_FragColor = texture2D(t, v);",
        "if (v.x > 0.5) discard; gl_FragColor = texture2D(t, v);",
        "gl_FragColor = v.x > 0.5 ? texture2D(t, v) : vec4(1.0);",
        "for (float x = 0.0; x < v.x; x += 0.1) gl_FragColor += texture2D(t, v);",
    ],
)
def test_where_the_text_does_not_tell(body):
    with pytest.raises(NotTold, match="runs may read differently often"):
        fetches(HEAD + "void main() { " + body + " }")
