"""Print every call with its arguments, the frame and the thread to standard error.

DRAWTAP_ONLY=gl prints only functions whose names begin so.
"""

from drawtap.instrument import func

printing = func.Hooks(
    header="""
        #include <stdio.h>
        #include <string.h>
        static bool wanted(const char* name) {
          static const char* only = drawtap::setting("DRAWTAP_ONLY", "");
          return !strncmp(name, only, strlen(only));
        }
    """,
    hook_funcs=[
        lambda f: func.Hook(
            before_run="""
                if (wanted(_function.name))
                  fprintf(stderr, "%llu [%d] %s(%s)\\n", (unsigned long long)_frame, _thread, _function.name,
                          _arguments.c_str());
            """,
        ),
    ],
)
