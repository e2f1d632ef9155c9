"""C structs that cross to Python have the layout of their headers; tests/live/test_pages.py has those of live.h."""

import subprocess
from pathlib import Path

from drawtap.capture import pools, receive, stream

COMMON = Path(__file__).parents[2] / "native" / "common"
LAYOUTS = {
    "offsetof(dt_pool_header, beat)": pools._BEAT,
    "offsetof(dt_pool_header, calls_unrecorded)": pools._UNRECORDED,
    "sizeof(dt_stream_hello)": stream.HELLO.size,
    "sizeof(dt_stream_answer)": stream.ANSWER.size,
    "sizeof(dt_stream_message)": stream.MESSAGE.size,
    "sizeof(dt_chunk_header)": receive._CHUNK.size,
}


def test_python_has_the_layouts_of_the_headers() -> None:
    asserts = (f'_Static_assert({of} == {size}, "{of} is not {size}");\n' for of, size in LAYOUTS.items())
    headers = ("<stddef.h>", '"ring.h"', '"stream.h"', '"format.h"')
    source = "".join((*(f"#include {header}\n" for header in headers), *asserts))
    command = ["cc", "-std=c11", "-fsyntax-only", "-I", COMMON, "-x", "c", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
