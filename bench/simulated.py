"""A corpus of made-up recordings: as many manifests, tags and rows as wanted, without the recordings."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import drawtap
from drawtap.corpus.store import Manifest, Store, create, identity, sealed
from drawtap.tables.corpus import FILED
from drawtap.trace.result import connect

_V = drawtap.__version__
_DAY = "1700000000000000000::BIGINT + b * 86400000000000"
#: Rows of made-up builds 0 to 3 by table, of recordings `ids` (trace, n): some hang, some are drawn wrong, some slower.
BUILDS = {
    "traces": "SELECT trace, 'scene-' || (n % 50) || '.dtap' AS file, 2 AS frames FROM ids",
    "runs": f"SELECT sha256(trace || b) AS task, trace, md5('b' || b) AS engine, 'mesa-26.' || b AS name, 'llvmpipe' AS"
    f" family, '{_V}' AS drawtap, {_DAY} AS started, 1.5 AS seconds, CASE WHEN b = 3 AND n % 997 = 0 THEN 'hang' ELSE"
    " 'ok' END AS outcome FROM ids, range(4) t(b)",
    "images": "SELECT sha256(trace || b) AS task, trace, md5('b' || b) AS engine, f AS frame, md5(trace || f ||"
    " (b = 3 AND n % 101 = 0)) AS digest FROM ids, range(4) t(b), range(2) u(f)",
    "verdicts": "SELECT sha256('v' || trace || b) AS task, trace, md5('b' || b) AS engine, 'mesa-26.' || b AS name,"
    f" md5('b' || (b - 1)) AS base, {_DAY} + 1 AS judged, 'images' AS kind, CASE WHEN b = 3 AND n % 101 = 0 THEN"
    " 'differs' ELSE 'same' END AS label FROM ids, range(1, 4) t(b) UNION ALL BY NAME SELECT sha256('s' || trace || b)"
    f" AS task, trace, md5('b' || b) AS engine, md5('b0') AS base, {_DAY} + 1 AS judged, 'speed' AS kind, CASE WHEN"
    " n % 503 = 0 THEN 'regression' WHEN n % 7 = 0 THEN 'unknown' ELSE 'same' END AS label,"
    " 'perf:hardware/instructions' AS metric, (n % 100 - 50) / 1e4 AS effect, (n % 100 - 55) / 1e4 AS low,"
    " (n % 100 - 45) / 1e4 AS high, 20 AS pairs, 0.01 AS detectable FROM ids, range(1, 4) t(b)",
    "pairs": "SELECT sha256('p' || trace || b || p) AS task, trace, md5('b' || b) AS engine, 'mesa-26.' || b AS name,"
    " md5('b0') AS base, 'mesa-26.0' AS base_name, 'm' || (p % 2) AS machine, 'perf:hardware/instructions' AS metric,"
    f" {_DAY} + p AS started, p % 2 = 0 AS base_first, (n % 100 - 50) / 1e4 + (hash(trace, b, p) % 1000) / 2e5 AS"
    " ratio, 2 AS frames FROM ids, range(1, 4) t(b), range(20) u(p)",
}


def is_red(number: int) -> bool:
    """Tell whether a recording of BUILDS is red on some build."""
    return number % 101 == 0 or number % 503 == 0 or number % 997 == 0


def simulated(
    where: Path, count: int, questions: Mapping[str, str] = BUILDS, tag: tuple[str, str] | None = None
) -> Store:
    """Return a corpus with `count` recordings: of each table the rows that a question gives, all others NULL or none.

    Questions may ask `ids` (trace, n). Every recording has `tag`, where one is given.
    """
    store, ids, files = create(str(where)), [], {}
    (where / "traces").mkdir()
    for number in range(count):
        skeleton = hashlib.sha256(b"%d" % number).hexdigest()
        ids.append(identity(skeleton, ()))
        manifest = Manifest(ids[-1], "0" * 32, f"{number}.dtap", "0" * 64, 1000, skeleton, 0, ())
        (where / f"traces/{ids[-1]}.json").write_bytes(manifest.text())
        if tag is not None:
            text = json.dumps({tag[0]: tag[1]}, separators=(",", ":")).encode()
            (where / f"tags/{ids[-1]}").mkdir(parents=True)
            word = base64.urlsafe_b64encode(text).decode().rstrip("=")
            (where / f"tags/{ids[-1]}/{number + 1:020d}-{word}").touch()
    with connect() as database:
        database.execute(
            "CREATE TABLE ids AS SELECT unnest(?::VARCHAR[]) AS trace, unnest(range(?)) AS n", [ids, count]
        )
        for name, table in FILED.items():
            question = questions.get(name, "SELECT 1 WHERE false")
            have = {column[0] for column in database.execute(f"{question} LIMIT 0").description}
            wanted = [c for c in table.columns if c.name not in ("added", "tags")]
            known = {c.name: f'"{c.name}"' if c.name in have else "NULL" for c in wanted}
            cells = ", ".join(f'TRY_CAST({known[c.name]} AS {c.type}) AS "{c.name}"' for c in wanted)
            path = where / "rows.parquet"
            database.execute(f"COPY (SELECT {cells} FROM ({question})) TO '{path}' (FORMAT parquet)")
            content = path.read_bytes()
            path.unlink()
            files[name] = hashlib.sha256(content).hexdigest()
            store.objects.put_new(f"tables/{name}/_all.{files[name]}.parquet", content)
    store.objects.put_new("tables/_gen/00000000.json", sealed({"recordings": ids, "files": files}))
    return store
