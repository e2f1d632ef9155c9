"""Ask for the GL error after every call, and say which call made it.

The program still sees its errors: what was found is kept and given back by its own glGetError. It reads no errors
between glBegin and glEnd, where glGetError is itself an error.
"""

from drawtap.instrument import func

_NOT_ASKED = ("glGetError", "glBegin", "glEnd")

checking = func.Hooks(
    header="""
        #include <stdio.h>
        struct Kept {
          GLenum error;
          bool between;  // glBegin and glEnd
        };
        static void check(const char* name, unsigned long long frame) {
          Kept& kept = drawtap::per_context<Kept>();
          if (kept.between) return;
          GLenum error = glGetError();
          if (!error) return;
          fprintf(stderr, "drawtap: frame %llu: %s made GL error 0x%04x\\n", frame, name, error);
          char text[120];
          snprintf(text, sizeof text, "GL error 0x%04x after %s", error, name);
          drawtap::mark(text);
          if (!kept.error) kept.error = error;
        }
    """,
    hook_funcs=[
        lambda f: func.Hook(
            is_target=f.api.name == "gl" and f.name not in _NOT_ASKED,
            after_run="if (_context) check(_function.name, _frame);",
        ),
        lambda f: func.Hook(
            is_target=f.name == "glBegin",
            after_run="drawtap::per_context<Kept>().between = true;",
        ),
        lambda f: func.Hook(
            is_target=f.name == "glEnd",
            after_run='drawtap::per_context<Kept>().between = false; check("glEnd", _frame);',
        ),
        lambda f: func.Hook(
            is_target=f.name == "glGetError",
            after_run="""
                Kept& kept = drawtap::per_context<Kept>();
                if (!_result) _result = kept.error;
                kept.error = GL_NO_ERROR;
            """,
        ),
    ],
)
