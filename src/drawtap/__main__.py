"""The first step of `drawtap` and of `python -m drawtap`."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from drawtap.trace.engine import load_lazily, open_ahead


def main() -> NoReturn:
    """Run `drawtap` with the words of the process, and exit.

    For a question about a file DuckDB is loaded beside the modules of the command line: either takes 50 ms.
    """
    words = sys.argv[1:]
    if words[:1] == ["sql"] and any(map(os.path.isfile, words)):
        load_lazily()
        open_ahead()
    from drawtap import cli  # behind the start of that

    cli.main()


if __name__ == "__main__":
    main()
