"""`drawtap corpus init`: make a corpus."""

from __future__ import annotations

from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.view.result import Text


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
) -> Text:
    """Make a corpus: a store of many recordings.

    A folder needs nothing else. A bucket needs pip install 'drawtap[fleet]'; address and credentials come from AWS_...
    variables (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION).
    """
    from drawtap.corpus.store import create

    made = create(store, tenant)
    said = f"a corpus at {made.where}: DRAWTAP_CORPUS={made.where} names it to the other commands"
    return Text(said, {"corpus": made.where, "tenant": tenant})
