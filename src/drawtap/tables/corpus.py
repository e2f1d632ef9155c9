"""The tables of a corpus: what `drawtap corpus sql` asks. Each recording has its rows in a Parquet file a table."""

from __future__ import annotations

from typing import Annotated

from drawtap.tables import BOOL, F64, I64, TEXT, TEXTS, U32, U64, by_name, table

#: Tables whose rows belong to a task, not to the recording alone.
OF_TASKS = ("runs", "images")
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
            ("machine", TEXT, "processor architecture of the machine"),
            ("drawtap", TEXT, "version of the player"),
            ("started", I64, "when it began, since 1970 in UTC", "ns"),
            ("seconds", F64, "how long it took, with the start of the player", "s"),
            ("outcome", TEXT, "ok, differs, gl-error, skipped-calls, crash, hang, oom; unsupported, timeout ..."),
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
    )
)
