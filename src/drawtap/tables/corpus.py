"""The tables of a corpus: what `drawtap corpus sql` asks. Each recording has its rows in a Parquet file a table."""

from __future__ import annotations

from typing import Annotated

from drawtap.tables import BOOL, F64, I64, TEXT, TEXTS, U32, U64, by_name, table

#: Tables whose rows belong to a task, not to the recording alone. Rows of a task count by themselves, or with another
#: table's: those are written last.
OF_TASKS = ("runs", "images", "pairs", "verdicts")
COUNT_WITH = {"images": "runs"}
TAGS = Annotated[dict[str, str], "MAP(VARCHAR, VARCHAR)"]

_TRACE = ("trace", TEXT, "id of the recording in the corpus (`traces.trace`)")

TABLES = by_name(
    (
        table(
            "traces",
            "parquet",
            "a recording of the corpus",
            ("trace", TEXT, "its id: SHA-256 of its skeleton and of its contents"),
            ("added", I64, "when it was added, since 1970 in UTC", "ns"),
            ("tags", TAGS, "its tags (drawtap corpus tag): tags['app']"),
            ("file", TEXT, "name of the file that it was added from"),
            ("file_sha256", TEXT, "SHA-256 of that file"),
            ("file_bytes", U64, "size of that file", "bytes"),
            ("uuid", TEXT, "name of the recording in its file"),
            ("program", TEXT, "the program, without its folder"),
            ("apis", TEXTS, "APIs that it calls: gl, egl ..."),
            ("renderer", TEXT, "renderer of its first context, as the driver called it"),
            ("version", TEXT, "version of that context"),
            ("calls", U64, "number of its calls"),
            ("frames", U64, "number of its frames"),
            ("threads", U64, "number of its threads"),
            ("width", U32, "of its largest surface", "pixels"),
            ("height", U32, "of its largest surface", "pixels"),
            ("duration", I64, "from its first call to its last", "ns"),
            ("contents", U64, "number of its contents"),
            ("content_bytes", U64, "size of its contents", "bytes"),
            ("skeleton_bytes", U64, "size of everything else, as stored", "bytes"),
            ("cut_of", TEXT, "uuid of the recording that it was made from; NULL: of none"),
            ("complete", BOOL, "nothing is missing, as far as the recorder knows"),
        ),
        table(
            "contents",
            "parquet",
            "a content of a recording: pixels, vertices, shaders ... over 1 KiB",
            _TRACE,
            ("key", TEXT, "its hash in the recording (`blobs.hash`)"),
            ("sha256", TEXT, "SHA-256 of it: equal contents of all recordings are stored once"),
            ("bytes", U64, "its size", "bytes"),
            ("stored", U64, "what it takes in the store", "bytes"),
        ),
        table(
            "functions",
            "parquet",
            "a function that a recording calls",
            _TRACE,
            ("name", TEXT, "its name"),
            ("calls", U64, "how often it was called"),
            ("ns", I64, "time inside of it; NULL where times were not taken", "ns"),
        ),
        table(
            "frames",
            "parquet",
            "a frame of a recording",
            _TRACE,
            ("frame", U32, "number of the frame, from 0"),
            ("calls", U64, "calls"),
            ("draws", U64, "draws"),
            ("triangles", U64, "triangles"),
            ("texels", U64, "texels that it uploads"),
            ("upload_bytes", U64, "content that its calls handed over", "bytes"),
            ("api_ns", I64, "time inside the API", "ns"),
            ("duration", I64, "from its first call to the end of its last", "ns"),
            ("signature", U64, "hash of its calls with their arguments: equal in frames that do the same"),
        ),
        table(
            "findings",
            "parquet",
            "a finding of the checklist in a recording",
            _TRACE,
            ("rule", TEXT, "id of the rule"),
            ("severity", TEXT, "error, warning or note"),
            ("n", U64, "rows of evidence"),
            ("first_seq", U64, "the first call that it is about; NULL: it is about frames"),
        ),
        table(
            "features",
            "parquet",
            "a mean per frame, or a share, by which recordings are alike (drawtap cluster)",
            _TRACE,
            ("name", TEXT, "the feature"),
            ("value", F64, "its value"),
        ),
        table(
            "runs",
            "parquet",
            "a recording that was played on an engine (drawtap corpus replay)",
            ("task", TEXT, "hash of recording, engine and player: the same task has one result"),
            _TRACE,
            ("engine", TEXT, "key of the engine: hash of what its driver says, of its files, environment and kernel"),
            ("name", TEXT, "name of the engine where it was played"),
            ("family", TEXT, "family of the engine"),
            ("renderer", TEXT, "renderer, as its driver says"),
            ("version", TEXT, "version, as its driver says"),
            ("libraries", TEXT, "SHA-256 over the files of the libraries that the driver loads"),
            ("kernel", TEXT, "release of the kernel"),
            ("machine", TEXT, "hash of the machine's id: runs of one machine have the same"),
            ("drawtap", TEXT, "version of the player"),
            ("started", I64, "when it began, since 1970 in UTC", "ns"),
            ("seconds", F64, "how long it took, with the start of the player", "s"),
            (
                "outcome",
                TEXT,
                "ok, differs, gl-error, skipped-calls, crash, hang, oom, device-lost; unsupported, timeout ...",
            ),
            ("signal", I64, "signal that ended the player; NULL: none"),
            ("last_seq", U64, "the call that is to blame, or came next when the player ended; NULL: none"),
            ("function", TEXT, "the function of that call"),
            ("frames", U64, "frames that were played"),
            ("calls", U64, "calls that were played"),
            ("detail", TEXT, "a sentence about the outcome"),
            ("log", TEXT, "the end of the player's standard error"),
        ),
        table(
            "images",
            "parquet",
            "the image of a frame that was played",
            ("task", TEXT, "the task (`runs.task`)"),
            _TRACE,
            ("engine", TEXT, "key of the engine (`runs.engine`)"),
            ("frame", U32, "number of the frame, from 0"),
            ("digest", TEXT, "hash of its pixels"),
        ),
        table(
            "pairs",
            "parquet",
            "a recording that was played on two engines right after each other (drawtap corpus verdict --speed)",
            ("task", TEXT, "hash of recording, engines and time"),
            _TRACE,
            ("engine", TEXT, "key of the engine that is judged"),
            ("name", TEXT, "its name"),
            ("base", TEXT, "key of the engine that it is compared with"),
            ("base_name", TEXT, "its name"),
            ("machine", TEXT, "hash of the machine's id: pairs of one machine have the same"),
            ("metric", TEXT, "what was measured: perf:hardware/instructions, cpu:time/process, cpu:time/wall ..."),
            ("started", I64, "when it began, since 1970 in UTC", "ns"),
            ("base_first", BOOL, "the base was played first"),
            ("base_value", F64, "median over the frames, on the base"),
            ("value", F64, "median over the frames, on the engine"),
            ("ratio", F64, "median over the frames of log(value / value on the base)"),
            ("frames", U64, "frames that both have, without the first one"),
        ),
        table(
            "verdicts",
            "parquet",
            "a judgement about a recording on a build (drawtap corpus verdict)",
            ("task", TEXT, "hash of everything that was judged"),
            _TRACE,
            ("engine", TEXT, "key of the engine that is judged"),
            ("name", TEXT, "its name"),
            ("base", TEXT, "key of the engine that it is compared with; NULL: none"),
            ("judged", I64, "when, since 1970 in UTC", "ns"),
            ("kind", TEXT, "images or speed"),
            (
                "label",
                TEXT,
                "of images: approved, same, flaky, differs, rejected, unknown, or how the run failed; of "
                "speed: regression, faster, same, unknown",
            ),
            ("frame", U32, "the first frame with that label; NULL: the label is about none"),
            ("digest", TEXT, "hash of its pixels"),
            ("base_digest", TEXT, "hash of the pixels on the other engine"),
            (
                "first_seq",
                U64,
                "the first draw whose result differs, or the call at which the run failed; NULL: not looked for",
            ),
            ("function", TEXT, "the function of that call"),
            ("cut", TEXT, "recording of the corpus that draws that frame alone; NULL: none"),
            ("metric", TEXT, "what was measured; NULL: the verdict is about images"),
            ("effect", F64, "estimate of value / value on the base - 1"),
            ("low", F64, "begin of its interval of 95 %"),
            ("high", F64, "end of its interval of 95 %"),
            ("q", F64, "share of false findings that it has to be counted with"),
            ("pairs", U64, "pairs that the estimate is from"),
            ("detectable", F64, "slowdown that these pairs would have shown"),
            ("detail", TEXT, "a sentence about the label"),
        ),
        table(
            "approvals",
            "store",
            "a decision about the image of a frame (drawtap corpus approve, reject)",
            _TRACE,
            ("frame", U32, "number of the frame, from 0"),
            ("digest", TEXT, "hash of its pixels"),
            ("family", TEXT, "the family of engines that it is for"),
            ("label", TEXT, "approved, rejected or flaky; the newest one of a digest in a family counts"),
            ("decided", I64, "when, since 1970 in UTC", "ns"),
            ("who", TEXT, "who decided"),
            ("why", TEXT, "the reason"),
            ("signer", TEXT, "the allowed signer who signed it; NULL: the corpus asks for no signature"),
        ),
        table(
            "engines",
            "corpus",
            "a build that recordings were played on, as its newest run tells",
            ("engine", TEXT, "its key"),
            ("name", TEXT, "its name in engines.toml"),
            ("family", TEXT, "the family that approvals are for"),
            ("renderer", TEXT, "the renderer that it names"),
            ("version", TEXT, "the version that it names"),
            ("libraries", TEXT, "SHA-256 over the files of the driver"),
            ("kernel", TEXT, "release of the kernel"),
            ("runs", U64, "number of its runs"),
            ("first", I64, "start of its first run, since 1970 in UTC", "ns"),
            ("last", I64, "start of its last run, since 1970 in UTC", "ns"),
        ),
        table(
            "machines",
            "corpus",
            "a machine that played recordings or measured pairs",
            ("machine", TEXT, "a name that says nothing about it"),
            ("runs", U64, "number of its runs"),
            ("pairs", U64, "number of its pairs"),
            ("spread", F64, "median distance of a pair from the median of its recording and builds, as a share"),
            ("first", I64, "start of its first run or pair, since 1970 in UTC", "ns"),
            ("last", I64, "start of its last run or pair, since 1970 in UTC", "ns"),
        ),
    )
)
#: Tables that are files in the store. Of the others the store itself knows the rows, or other tables do (`VIEWS`).
FILED = {name: one for name, one in TABLES.items() if one.source == "parquet"}
#: Questions that are tables, with the tables that they ask.
VIEWS = {
    "engines": (
        ("runs",),
        "SELECT engine, max_by(name, started) AS name, max_by(family, started) AS family, max_by(renderer, started) AS"
        " renderer, max_by(version, started) AS version, max_by(libraries, started) AS libraries, max_by(kernel,"
        " started) AS kernel, count(*)::UBIGINT AS runs, min(started) AS first, max(started) AS last FROM runs GROUP BY"
        " engine ORDER BY first",
    ),
    "machines": (
        ("runs", "pairs"),
        "WITH measured AS (SELECT machine, started, abs(ratio - median(ratio) OVER (PARTITION BY trace, engine, base,"
        " metric, machine)) AS apart FROM pairs), every AS (SELECT machine, started, 'run' AS what, NULL AS apart FROM"
        " runs UNION ALL SELECT machine, started, 'pair', apart FROM measured) SELECT machine, count(*) FILTER (what ="
        " 'run')::UBIGINT AS runs, count(*) FILTER (what = 'pair')::UBIGINT AS pairs, exp(median(apart)) - 1 AS spread,"
        " min(started) AS first, max(started) AS last FROM every GROUP BY machine ORDER BY pairs DESC, runs DESC,"
        " machine",
    ),
}
