"""`drawtap corpus serve`: recordings beside builds, in a browser or as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.corpus_approve import KEY
from drawtap.commands.options import CORPUS, ENGINES_FILE
from drawtap.errors import UsageError, check_target, write_whole
from drawtap.output.result import ExitStatus, Written


@command(
    name="corpus serve",
    section="corpus",
    examples=(
        "drawtap corpus serve --corpus recordings/",
        "drawtap corpus serve --corpus recordings/ -o night.html    # one file, for a mail or a job's artifacts",
        "drawtap corpus serve --port 8000 --no-browser --read-only    # over ssh -L 8000:127.0.0.1:8000",
    ),
    json=False,
    serves=True,
)
def corpus_serve(
    *,
    corpus: Annotated[str | None, CORPUS] = None,
    output: Annotated[Path | None, Opt("Write the page as one HTML file instead.", "-o", "FILE")] = None,
    force: Annotated[bool, Opt("Replace the file if it exists.")] = False,
    engines: Annotated[Path | None, ENGINES_FILE] = None,
    builds: Annotated[int, Opt("Show the N newest builds.", metavar="N")] = 12,
    sign: Annotated[Path | None, KEY] = None,
    read_only: Annotated[bool, Opt("Nobody approves or rejects images from the page.")] = False,
    port: Annotated[int, Opt("The port of the server; 0: a free one.", metavar="PORT")] = 0,
    no_browser: Annotated[bool, Opt("Print the address and open no browser.")] = False,
    host: Annotated[str, Opt("The address to listen on: other machines can reach it.", metavar="HOST")] = "127.0.0.1",
) -> ExitStatus | Written:
    """Show recordings beside builds: what each build draws wrong, and where it is slower.

    A cell leads to three pictures (approved, drawn, difference), the first draw that differs, pairs of times, the
    series of builds, machines, and the commands that repeat it here. Images are approved or rejected there. A recording
    opens in the viewer at the call that differs, on both builds where they play here.

    The first line of output is the address of the page. The token in that address is the key: only its holder can ask.
    The page loads nothing from anywhere else. Ctrl-C ends the server.

    -o writes one file without a server: the matrix, and the cells that are worth a look, with the pictures that
    verdicts kept.
    """
    from drawtap.corpus.store import chosen

    if builds < 1:
        raise UsageError(f"--builds {builds} makes no sense", hint="--builds 12")
    store = chosen(corpus)
    if output is not None:
        from drawtap.corpus.matrix import matrix
        from drawtap.corpus.search import Corpus
        from drawtap.web.fleet_data import document

        check_target(output, force=force)
        with Corpus(store) as tables:
            text = document(tables, store, matrix(tables, builds))
        write_whole(output, text)
        return Written(str(output), output.stat().st_size, "corpus page")
    from drawtap.web.fleet import Fleet
    from drawtap.web.serve import serve

    fleet = Fleet(store, engines, most=builds, decides=not read_only, key=sign)
    fleet.prepare()
    serve([], host=host, port=port, browser=not no_browser, fleet=fleet)
    return ExitStatus(0)
