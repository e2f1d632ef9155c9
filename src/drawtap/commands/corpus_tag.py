"""`drawtap corpus tag`: name what recordings are."""

from __future__ import annotations

from typing import Annotated

from drawtap.commands import Opt, command
from drawtap.commands.options import CORPUS
from drawtap.errors import UsageError
from drawtap.output.result import Rows


@command(
    name="corpus tag",
    section="corpus",
    examples=("drawtap corpus tag 3f2a91c04d77 app=navigation build=841", "drawtap corpus tag 3f2a91c04d77 build="),
)
def corpus_tag(
    id_: Annotated[str, Opt("a recording, by the first digits of its id", metavar="ID")],
    *tags: Annotated[str, Opt("tags to set; NAME= removes one", metavar="NAME=VALUE", mixed=True)],
    corpus: Annotated[str | None, CORPUS] = None,
) -> Rows:
    """Set or remove tags of a recording, and print those that it has.

    Tags are what people know of a recording: the app, its build, the scene. Verbs of the corpus choose by them, and
    `corpus sql` has them as `tags['app']`.
    """
    from drawtap.corpus.store import chosen, parse_tags

    changes = parse_tags(tags, removable=True)
    store = chosen(corpus)
    recording = store.find(id_)
    store.tag(recording, changes)
    if not changes and not store.tags(recording):
        raise UsageError(f"recording {recording[:12]} has no tags", hint=f"drawtap corpus tag {id_} app=NAME sets one")
    return Rows(("tag", "value"), sorted(store.tags(recording).get(recording, {}).items()))
