"""`drawtap corpus init`: make a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.errors import UsageError, no_file
from drawtap.output.result import Text


@command(
    name="corpus init",
    section="corpus",
    examples=("drawtap corpus init recordings/", "drawtap corpus init s3://bucket/gfx --tenant navigation"),
)
def corpus_init(
    store: Annotated[str, Opt("a new folder, or s3://BUCKET/PREFIX", metavar="STORE")],
    *,
    tenant: Annotated[
        str | None, Opt("Below STORE, for one team: tenants share nothing, equal contents neither.", metavar="NAME")
    ] = None,
    signers: Annotated[
        Path | None, Opt("Images are approved by these people alone, with a signature.", metavar="FILE")
    ] = None,
) -> Text:
    """Make a corpus: a store of many recordings.

    A folder needs nothing else. A bucket needs pip install 'drawtap[fleet]'; address and credentials come from AWS_...
    variables (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION).

    --signers names a file of allowed signers, as ssh-keygen has them. Then `corpus approve` and `corpus reject` need
    --sign KEY, and no other decision counts.
    """
    from drawtap.corpus.store import create

    text = None
    if signers is not None:
        if not signers.is_file():
            raise no_file(signers)
        text = signers.read_text(encoding="utf-8", errors="replace")
        if not text.strip():
            raise UsageError(f"{signers} names nobody", hint="lines of NAME KEYTYPE KEY, as ssh-keygen has them")
    made = create(store, tenant, text)
    said = f"a corpus at {made.where}: DRAWTAP_CORPUS={made.where} names it to the other commands"
    return Text(said, {"corpus": made.where, "tenant": tenant})
