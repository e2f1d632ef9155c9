"""Draw lines in place of filled triangles.

OpenGL by glPolygonMode. OpenGL ES has no such mode: there each triangle of a list or a strip is a draw of its own, a
loop of three lines, which is slow; of a fan the outline is drawn. Draws whose arguments lie in buffers stay filled.
"""

from drawtap.instrument import func

_POLYGONS = ("glDrawArrays", "glDrawElements", "glDrawRange", "glMultiDraw", "glCallList", "glRect")
_INDEX = "(const char*)indices + (size_t)at * index_bytes(type)"
_ONE_TRIANGLE = {
    "glDrawArrays": "glDrawArrays(GL_LINE_LOOP, first + at, 3)",
    "glDrawArraysInstanced": "glDrawArraysInstanced(GL_LINE_LOOP, first + at, 3, instancecount)",
    "glDrawElements": f"glDrawElements(GL_LINE_LOOP, 3, type, {_INDEX})",
    "glDrawRangeElements": f"glDrawElements(GL_LINE_LOOP, 3, type, {_INDEX})",
    "glDrawElementsInstanced": f"glDrawElementsInstanced(GL_LINE_LOOP, 3, type, {_INDEX}, instancecount)",
    "glDrawElementsBaseVertex": f"glDrawElementsBaseVertex(GL_LINE_LOOP, 3, type, {_INDEX}, basevertex)",
}


def _draws(name: str) -> bool:
    return name.startswith(_POLYGONS) or name in ("glBegin", "glEnd")


_HEADER = """
    #include <string.h>
    static bool is_es() {
      static thread_local const void* asked;
      static thread_local bool es;
      const void* context = drawtap::detail::context();
      if (!context) return true;
      if (asked != context) {
        const char* version = (const char*)glGetString(GL_VERSION);
        es = version && !strncmp(version, "OpenGL ES", 9);
        asked = context;
      }
      return es;
    }
    static int index_bytes(GLenum type) {
      return type == GL_UNSIGNED_BYTE ? 1 : type == GL_UNSIGNED_SHORT ? 2 : 4;
    }
    template <class Draw> static bool one_by_one(GLenum mode, GLsizei count, Draw draw) {
      if (mode != GL_TRIANGLES && mode != GL_TRIANGLE_STRIP) return false;
      for (GLsizei at = 0; at + 3 <= count; at += mode == GL_TRIANGLES ? 3 : 1) draw(at);
      return true;
    }
    struct Mode {
      GLint filled[2];
    };
    static void lines_on() {
      if (is_es()) return;
      glGetIntegerv(GL_POLYGON_MODE, drawtap::per_context<Mode>().filled);
      glPolygonMode(GL_FRONT_AND_BACK, GL_LINE);
    }
    static void lines_off() {
      if (!is_es()) glPolygonMode(GL_FRONT_AND_BACK, (GLenum)drawtap::per_context<Mode>().filled[0]);
    }
"""

lines = func.Hooks(
    header=_HEADER,
    hook_funcs=[
        lambda f: func.Hook(
            is_target=_draws(f.name) and f.name != "glEnd",
            before_run="lines_on();",
        ),
        lambda f: func.Hook(
            is_target=_draws(f.name) and f.name != "glBegin",
            after_run="lines_off();",
        ),
        lambda f: func.Hook(
            is_target=f.name in _ONE_TRIANGLE,
            before_run=f"""
                if (is_es()) {{
                  if (one_by_one(mode, count, [&](GLsizei at) {{ {_ONE_TRIANGLE.get(f.name)}; }})) _skip = true;
                  else if (mode == GL_TRIANGLE_FAN) mode = GL_LINE_LOOP;
                }}
            """,
        ),
    ],
)
