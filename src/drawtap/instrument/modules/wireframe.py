"""Draw lines in place of filled triangles.

OpenGL by glPolygonMode; OpenGL ES, which has no such mode, by drawing triangles as line loops and strips.
"""

from drawtap.instrument import func

_POLYGONS = (
    "glDrawArrays",
    "glDrawElements",
    "glDrawRangeElements",
    "glDrawArraysInstanced",
    "glDrawElementsInstanced",
)

lines = func.Hooks(
    header="""
        #include <string.h>
        static bool is_es() {
          static thread_local const void* asked;
          static thread_local bool es;
          const void* context = drawtap::detail::context();
          if (asked != context) {
            const char* version = (const char*)glGetString(GL_VERSION);
            es = version && !strncmp(version, "OpenGL ES", 9);
            asked = context;
          }
          return es;
        }
    """,
    hook_funcs=[
        lambda f: func.Hook(
            is_target=f.name in _POLYGONS,
            before_run="""
                GLint filled[2] = {GL_FILL, GL_FILL};
                bool es = !_context || is_es();
                if (es && mode >= GL_TRIANGLES && mode <= GL_TRIANGLE_FAN)
                  mode = mode == GL_TRIANGLES ? GL_LINE_LOOP : GL_LINE_STRIP;
                if (!es) {
                  glGetIntegerv(GL_POLYGON_MODE, filled);
                  glPolygonMode(GL_FRONT_AND_BACK, GL_LINE);
                }
            """,
            after_run="if (!es) glPolygonMode(GL_FRONT_AND_BACK, (GLenum)filled[0]);",
        ),
    ],
)
