"""Count what every frame hands to the API, as the sensors of an instrumented engine would (Kyostila's thesis, Table 3).

Metrics of each frame: calls, draws, vertices, texture_bytes, buffer_bytes, program_changes and texture_binds.
"""

from drawtap.instrument import func

_SENSORS = ["calls", "draws", "vertices", "texture_bytes", "buffer_bytes", "program_changes", "texture_binds"]

_COUNTED = {
    "glDrawArrays": "now.draws++; now.vertices += (double)count;",
    "glDrawElements": "now.draws++; now.vertices += (double)count;",
    "glDrawRangeElements": "now.draws++; now.vertices += (double)count;",
    "glDrawArraysInstanced": "now.draws++; now.vertices += (double)count * instancecount;",
    "glDrawElementsInstanced": "now.draws++; now.vertices += (double)count * instancecount;",
    "glVertex3f": "now.vertices++;",
    "glVertex2f": "now.vertices++;",
    "glBegin": "now.draws++;",
    "glTexImage2D": "if (pixels) now.texture_bytes += (double)bytes_of(format, type) * width * height;",
    "glTexSubImage2D": "now.texture_bytes += (double)bytes_of(format, type) * width * height;",
    "glCompressedTexImage2D": "now.texture_bytes += imageSize;",
    "glBufferData": "if (data) now.buffer_bytes += (double)size;",
    "glBufferSubData": "now.buffer_bytes += (double)size;",
    "glUseProgram": "now.program_changes++;",
    "glBindTexture": "now.texture_binds++;",
}

_REPORT = "\n".join(f'drawtap::metric("{name}", now.{name});' for name in _SENSORS)

counting = func.Hooks(
    header=f"""
        struct Sensors {{
          double {", ".join(_SENSORS)};
        }};
        static int bytes_of(GLenum format, GLenum type) {{
          int channels = format == GL_RGBA ? 4 : format == GL_RGB ? 3 : format == GL_LUMINANCE_ALPHA ? 2 : 1;
          switch (type) {{
            case GL_UNSIGNED_SHORT_5_6_5: case GL_UNSIGNED_SHORT_4_4_4_4: case GL_UNSIGNED_SHORT_5_5_5_1: return 2;
            case GL_FLOAT: case GL_UNSIGNED_INT: return 4 * channels;
            case GL_UNSIGNED_SHORT: return 2 * channels;
            default: return channels;
          }}
        }}
    """,
    hook_funcs=[
        lambda f: func.Hook(
            is_target=f.api.name == "gl",
            before_run="Sensors& now = drawtap::per_context<Sensors>(); now.calls++;\n" + _COUNTED.get(f.name, ""),
        ),
        lambda f: func.Hook(
            is_target=f.has("frame_end"),
            before_run="Sensors& now = drawtap::per_context<Sensors>();\n" + _REPORT + "\nnow = {};",
        ),
    ],
)
