"""Addresses of the viewer, and which question each stands for. Answers are JSON, or bytes where they are content."""

from __future__ import annotations

import contextlib
import functools
import gzip
import importlib
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar, Union

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

import drawtap
from drawtap.errors import DrawtapError, ExhaustedError, InputError, UnavailableError, UsageError, no_file
from drawtap.output.data import dumps
from drawtap.trace.library import Cancelled
from drawtap.web.answer import Answer, Encoded, headed
from drawtap.web.frames import Opening
from drawtap.web.guard import Guard
from drawtap.web.notes import MOST_BYTES, Notes
from drawtap.web.recording import Recording
from drawtap.web.reference import rules
from drawtap.web.saving import KINDS, MOST_SHOWN, file_of_shown
from drawtap.web.steering import Steering

if TYPE_CHECKING:
    from drawtap.web.fleet import Fleet
    from drawtap.web.kernel import KernelView
    from drawtap.web.live import Live
    from drawtap.web.pair import Pair

_ASSETS = Path(__file__).parent / "assets"
_SHARED = Path(drawtap.__file__).parent / "output" / "assets"
_OF_REPORTS = (
    *("uplot.min.js", "uplot.min.css", "units.js", "lengths.js", "plots.js", "dom.js"),
    *("timegraph.js", "timepaint.js", "timegraph.css"),
)
_MOST_BODY = MOST_BYTES + 4096
# Errors as HTTP says them; what drawtap finds wrong with a request is 400.
_STATUS: tuple[tuple[type[BaseException], int], ...] = (
    (UsageError, 400),
    (UnavailableError, 501),
    (ExhaustedError, 507),
    (InputError, 422),
    (DrawtapError, 500),
)


_R = TypeVar("_R")
#: The kinds of traces that the page shows.
Seen: TypeAlias = Union[Recording, "KernelView"]


def application(
    recordings: Sequence[Seen],
    *,
    token: str,
    host: str,
    steering: Steering | None = None,
    live: bool = False,
    fleet: Fleet | None = None,
) -> Starlette:
    """Return the application that serves recordings: number 0 is `/api/0/...`.

    `steering` lets a program drive it; `live` shows what a manager sees, `fleet` a corpus.
    `state.warm` may be called before the first question, and `state.close` is to be called at the end.
    """
    guard = Middleware(Guard, token=token, host=host, framed=steering is not None)
    routes = _Routes(recordings, steering, fleet, live=live)
    app = Starlette(routes=routes.routes(), middleware=[guard], debug=False)
    app.state.warm, app.state.close = routes.warm, routes.close
    return app


def opened(path: Path, frame_end: str | None = None, engine: str = "system", opening: Opening | None = None) -> Seen:
    """Open a recording, which `engine` plays, or a trace of the kernel. Raises what opening either raises.

    `opening` is the recording if it is being opened already.
    """
    from drawtap.trace.core import is_recording

    if not path.exists():
        raise no_file(path)
    if not is_recording(path):
        from drawtap.system.reader import recognised  # with all formats: a recording needs none of them

        if recognised(path):
            from drawtap.web.kernel import KernelView

            return KernelView(path)
    return Recording(path, frame_end, engine, opening or Opening(path, frame_end).begin())


class _Routes:
    def __init__(
        self, recordings: Sequence[Seen], steering: Steering | None, fleet: Fleet | None, *, live: bool
    ) -> None:
        self._recordings = list(recordings)
        self._added: list[Seen] = []
        self._live: Live | None = None
        if live:
            from drawtap.web.live import Live

            self._live = Live(Path.cwd(), self._add)
        self._steering = steering
        self._fleet = fleet
        self._pairs: dict[tuple[int, int], Pair] = {}
        self._pairing = threading.Lock()
        self._notes = [Notes(recording.path) for recording in recordings]

    def routes(self) -> list[Route]:
        """Return all addresses."""
        endpoints = {path: self._asking(ask, self._recording) for path, ask in _OF_RECORDINGS.items()}
        endpoints |= {path: self._asking(ask, self._of) for path, ask in _OF_ALL.items()}
        endpoints |= {path: self._asking(ask, self._kernel) for path, ask in _OF_KERNELS.items()}
        routes = [Route(f"/api/{{recording:int}}/{path}", endpoint) for path, endpoint in endpoints.items()]
        routes += [
            Route(f"/api/pair/{{a:int}}/{{b:int}}/{path}", self._asking(ask, self._pair))
            for path, ask in _OF_PAIRS.items()
        ]
        routes += [
            self._taking(f"{{recording:int}}/{path}", act, self._recording) for path, act in _TO_RECORDINGS.items()
        ]
        routes += [self._taking(f"{{recording:int}}/{path}", act, self._of) for path, act in _TO_ALL.items()]
        if self._live is not None:
            live = self._live
            routes += [
                Route("/api/live", self._looks),
                self._taking("live/ask", lambda _, text, __: live.ask(text), _nothing),
                self._taking("live/record", lambda _, text, __: live.record(text), _nothing),
            ]
        if self._fleet is not None:
            routes += self._of_fleet(self._fleet)
        stops = self._asking(lambda r, q: {"stopped": r.stop(q.path_params["query"])}, self._of)
        return [
            Route("/", _shell),
            Route("/app/{name}", _asset),
            Route("/api/session", self._asking(lambda *_: self._overviews(), _nothing)),
            Route("/api/start", self._asking(lambda _, request: self._start(request), _nothing)),
            Route("/api/engines", self._asking(_engines, _nothing)),
            Route("/api/place", self._place, methods=["GET", "PUT"]),
            self._taking(
                "save/{form}", lambda _, text, q: file_of_shown(text, q.path_params["form"]), _nothing, MOST_SHOWN
            ),
            Route("/api/{recording:int}/query/{query}", stops, methods=["DELETE"]),
            Route("/api/{recording:int}/notes", self._asking(lambda notes, _: notes.read(), self._notes_of)),
            Route("/api/{recording:int}/notes", self._write_notes, methods=["PUT"]),
            *routes,
        ]

    def _of_fleet(self, fleet: Fleet) -> list[Route]:
        asked: dict[str, Callable[[None, Request], object]] = {
            "": lambda _, q: fleet.matrix(fresh="fresh" in q.query_params),
            "/machines": lambda _, __: fleet.machines(),
            "/cell/{trace}/{key}": lambda _, q: fleet.cell(**q.path_params),
            "/picture/{trace}/{key}/{frame:int}/{digest}": lambda _, q: fleet.picture(**q.path_params),
            "/difference/{trace}/{key}/{frame:int}/{right}/{got}": lambda _, q: fleet.difference(**q.path_params),
        }
        return [
            *(Route(f"/api/fleet{path}", self._asking(ask, _nothing)) for path, ask in asked.items()),
            self._taking("fleet/decide", lambda _, text, __: fleet.decide(text), _nothing),
            self._taking("fleet/open", lambda _, text, __: fleet.open(text, self._add), _nothing),
        ]

    def _recording(self, request: Request) -> Recording:
        view = self._of(request)
        if not isinstance(view, Recording):
            raise UsageError(f"{view.path.name} is a kernel trace: it has no calls", hint="choose a recording of calls")
        return view

    def _kernel(self, request: Request) -> KernelView:
        view = self._of(request)
        if isinstance(view, Recording):
            raise UsageError(f"{view.path.name} is a recording of calls, no kernel trace", hint="choose a kernel trace")
        return view

    def _pair(self, request: Request) -> Pair:
        from drawtap.web.pair import Pair

        numbers: tuple[int, int] = request.path_params["a"], request.path_params["b"]
        one, other = (self._numbered(number) for number in numbers)
        if not isinstance(one, Recording) or not isinstance(other, Recording) or one is other:
            raise UsageError(
                "two recordings of calls are compared, no kernel trace and none with itself",
                hint="drawtap view A.dtap B.dtap opens two",
            )
        with self._pairing:
            if numbers not in self._pairs:
                self._pairs[numbers] = Pair(one, other)
            return self._pairs[numbers]

    def warm(self) -> None:
        """Make what a page asks for first, and load what answers later questions, while the browser starts."""
        for name in re.findall(r'"/app/([\w.]+)"', _shell_text()):
            _packed(_path(name), _path(name).stat().st_mtime_ns)
        with contextlib.suppress(DrawtapError, OSError):  # the page asks again, and says what is wrong
            dumps(self._overviews())
        if self._recordings:
            importlib.import_module("drawtap.trace.database")

    def close(self) -> None:
        """End what compares recordings or looks at a manager, and close what was recorded meanwhile."""
        if self._live is not None:
            self._live.close()
        for ends in (*self._pairs.values(), *self._added, *([self._fleet] if self._fleet is not None else [])):
            ends.close()

    def _add(self, file: Path, engine: str = "system") -> int:
        """Open one recording more, which `engine` plays; return its number."""
        recording = opened(file, None, engine)
        self._added.append(recording)
        self._notes.append(Notes(file))
        self._recordings.append(recording)
        return len(self._recordings) - 1

    async def _looks(self, request: Request) -> Response:
        assert self._live is not None
        return _json(await self._live.after(_number_or_0(request, "after")), 200)

    def _of(self, request: Request) -> Seen:
        return self._numbered(request.path_params["recording"])

    def _numbered(self, number: int) -> Seen:
        if number >= len(self._recordings):
            raise UsageError(f"there is no recording {number}", hint=f"there are {len(self._recordings)}")
        return self._recordings[number]

    def _overviews(self) -> Answer:
        seen = [r.overview() for r in self._recordings]
        return {"version": drawtap.__version__, "recordings": seen, "driven": self._steering is not None} | (
            {"live": True} if self._live is not None else {"corpus": True} if self._fleet is not None else {}
        )

    def _start(self, request: Request) -> bytes:
        """Answer all that the first rows need at once: each question more is a way to the server and back."""
        head: Answer = {"session": self._overviews()}
        frames = b""
        shows = request.query_params.get("page") == "recording" or (self._live is None and self._fleet is None)
        number = _number_or_0(request, "rec")
        if number >= len(self._recordings):
            number = 0  # as the page does
        # Tables that cannot be read are left out: the page asks for each alone, and says what is wrong with it.
        with contextlib.suppress(DrawtapError, OSError):
            if shows and self._recordings and isinstance(recording := self._recordings[number], Recording):
                frames = recording.frames()
                head["of"] = number
                head["notes"] = self._notes[number].read()
        return headed(Encoded(dumps(head)), frames)

    async def _place(self, request: Request) -> Response:
        steering = self._steering
        if steering is None:
            return _json({"error": "no program drives this page", "hint": "drawtap.view in Python does"}, 404)
        if request.method == "PUT":
            text = await _text(request)
            return await _answered(lambda: steering.moved(text))
        return _json(await steering.after(_number_or_0(request, "after")), 200)

    def _asking(self, ask: Callable[[_R, Request], object], of: Callable[[Request], _R]) -> Callable[[Request], object]:
        async def endpoint(request: Request) -> Response:
            return await _answered(lambda: ask(of(request), request))

        return endpoint

    def _taking(
        self,
        path: str,
        act: Callable[[_R, str, Request], object],
        of: Callable[[Request], _R],
        most: int = _MOST_BODY,
    ) -> Route:
        """Return an address that takes text of at most `most` bytes."""

        async def endpoint(request: Request) -> Response:
            text = await _text(request, most)
            return await _answered(lambda: act(of(request), text, request))

        return Route(f"/api/{path}", endpoint, methods=["POST"])

    def _notes_of(self, request: Request) -> Notes:
        self._of(request)  # which says where there is none
        number: int = request.path_params["recording"]
        return self._notes[number]

    async def _write_notes(self, request: Request) -> Response:
        text = await _body(request)

        def write() -> object:
            kept = self._notes_of(request)
            kept.write(text)
            return {"path": str(kept.path)}

        return await _answered(write)


def _nothing(request: Request) -> None:
    """Stand for the recording of a question that is about none."""


def _timeline(recording: Seen, *, findings: bool) -> Answer:
    more = recording.time.looked(findings=findings)
    return {**recording.time.tracks.listing(), "more": more}


def _sets(request: Request) -> tuple[str, str]:
    """Return the filters of both recordings that a request names."""
    return request.query_params.get("seta", ""), request.query_params.get("setb", "")


def _object_of(request: Request) -> tuple[int, str, int, int]:
    asked = request.path_params
    return asked["seq"], asked["kind"], asked["group"], asked["name"]


def _seq(recording: Recording, request: Request) -> int:
    """Return the call that a request names, if the recording has one."""
    return recording.checked(request.path_params["seq"])


def _query(request: Request) -> str:
    """Return the name under which a question can be stopped."""
    return request.query_params.get("query", "")


def _attachment(request: Request) -> str:
    return request.query_params.get("of", "")


def _buffer_of(recording: Recording, request: Request) -> tuple[int, int, int]:
    return _seq(recording, request), request.path_params["group"], request.path_params["name"]


def _buffer(recording: Recording, request: Request) -> bytes:
    form, against = request.query_params.get("format", ""), request.query_params.get("against", "")
    return recording.buffers.window(
        *_buffer_of(recording, request),
        form=form,
        against=recording.checked(_number(request, "against")) if against else None,
        first=_number(request, "first"),
        count=_number(request, "count"),
    )


def _buffer_range(recording: Recording, request: Request) -> Answer:
    with recording.named(_query(request)):
        of = _buffer_of(recording, request)
        return recording.buffers.touched(*of, _number(request, "first"), _number(request, "end"))


def _levels(recording: Seen, request: Request) -> bytes:
    with recording.named(_query(request)):
        window = _number(request, "t0"), _number(request, "t1"), _number(request, "px")
        return recording.time.tracks.levels(_numbers(request, "ids"), *window)


def _own(recording: Seen, sql: str, request: Request) -> Answer:
    with recording.named(_query(request)):
        return {"id": recording.time.own(sql)}


async def _answered(ask: Callable[[], object]) -> Response:
    try:
        answer = await run_in_threadpool(functools.partial(_without_stop, ask))
    except _StoppedError:
        return _json({"error": "stopped", "hint": None}, 499)
    except DrawtapError as error:
        return _json({"error": error.message, "hint": error.hint}, _status(error))
    except OSError as error:
        return _json({"error": f"{error.strerror}: {error.filename}", "hint": None}, 500)
    if isinstance(answer, bytes):
        kind = "image/png" if answer.startswith(b"\x89PNG") else "application/octet-stream"
        return Response(answer, media_type=kind, headers={"cache-control": "no-store"})
    if isinstance(answer, Path):  # a temporary file: it is ours to remove
        kind, gone = KINDS[answer.suffix[1:]], BackgroundTask(answer.unlink, missing_ok=True)
        return FileResponse(answer, media_type=kind, headers={"cache-control": "no-store"}, background=gone)
    return _json(answer, 200)


def _status(error: DrawtapError) -> int:
    from drawtap.replay.pool import SupersededError  # with all of the player: the first rows do without

    return (
        409 if isinstance(error, SupersededError) else next(code for kind, code in _STATUS if isinstance(error, kind))
    )


class _StoppedError(Exception):
    """Stand for Cancelled, a KeyboardInterrupt, which no task of an event loop may raise."""


def _without_stop(ask: Callable[[], object]) -> object:
    try:
        return ask()
    except Cancelled:
        raise _StoppedError from None


def _json(value: object, status: int) -> Response:
    text = value if isinstance(value, Encoded) else dumps(value)
    return Response(text, status, media_type="application/json", headers={"cache-control": "no-store"})


async def _body(request: Request, most: int = _MOST_BODY) -> bytes:
    """Return the body of a request, without what goes beyond `most` bytes."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > most:
            break
    return body


async def _text(request: Request, most: int = _MOST_BODY) -> str:
    return (await _body(request, most)).decode("utf-8", errors="replace")


def _number_or_0(request: Request, name: str) -> int:
    """Return a number of an address that somebody may have typed: 0 for what is none."""
    text = request.query_params.get(name, "")
    return int(text) if text.isdigit() and len(text) < 18 else 0


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not text.isdigit() or len(text) > 18:
        raise UsageError(f"{name} is not a number: {text[:40]!r}", hint="digits alone, at most 18")
    return int(text)


def _numbers(request: Request, name: str) -> list[int]:
    """Return numbers that are written `3,10-14`."""
    numbers: list[int] = []
    for item in request.query_params.get(name, "").split(","):
        first, _, last = item.partition("-")
        if not first.isdigit() or not (last or first).isdigit() or len(first) > 18 or len(last) > 18:
            raise UsageError(f"{name} is no list of numbers: {item[:40]!r}", hint="3,10-14")
        if int(last or first) - int(first) > 100_000:
            raise UsageError(f"{name} names too many calls", hint="at most 100,000")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def _engines(_nothing: None, _request: Request) -> object:
    from drawtap.replay.engine import ENGINES, ask

    answers = [ask(engine) for _, engine in ENGINES.items()]
    names = ("name", "about", "works", "renderer", "reason")
    return [
        dict(zip(names, (a.engine.name, a.engine.about, a.works, a.renderer, a.reason), strict=True)) for a in answers
    ]


async def _shell(request: Request) -> Response:
    return HTMLResponse(_shell_text(), headers={"cache-control": "no-cache"})


@functools.cache
def _shell_text() -> str:
    """Return the page, with a line for each module: a browser that found them by reading would ask in four rounds."""
    text = (_ASSETS / "index.html").read_text(encoding="utf-8")
    lines = "".join(f'<link rel="modulepreload" href="/app/{name}">\n' for name in _modules("app.js"))
    return text.replace("<script ", f"{lines}<script ", 1)


def _modules(of: str, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return what a module imports, and what these do, without what is loaded only when it is needed."""
    for name in re.findall(r' from "\./([\w.]+)";$', _path(of).read_text(encoding="utf-8"), re.MULTILINE):
        if name not in known:
            known = _modules(name, (*known, name))
    return known


def _path(name: str) -> Path:
    return (_SHARED if name in _OF_REPORTS else _ASSETS) / name


async def _asset(request: Request) -> Response:
    name: str = request.path_params["name"]
    path = _path(name)
    if path.suffix not in (".js", ".css", ".svg") or "/" in name or not path.is_file():
        return _json({"error": f"there is no {name[:40]!r}", "hint": None}, 404)
    # A browser asks for a page's icon again whenever the page's address changes, which every step here does.
    kept = "max-age=86400" if path.suffix == ".svg" else "no-cache"
    headers = {"cache-control": kept, "vary": "accept-encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(path, headers=headers)
    kind = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}[path.suffix]
    packed = _packed(path, path.stat().st_mtime_ns)
    return Response(packed, media_type=kind, headers=headers | {"content-encoding": "gzip"})


@functools.cache
def _packed(path: Path, _changed: int) -> bytes:
    # Over a tunnel the scripts are most of what a page waits for.
    return gzip.compress(path.read_bytes())


# Addresses below /api/RECORDING/ (or /api/pair/A/B/), and what answers there.
_OF_RECORDINGS: dict[str, Callable[[Recording, Request], object]] = {
    "frames": lambda r, _: r.frames(),
    "outline/{frame:int}": lambda r, q: r.outline(q.path_params["frame"]),
    "calls": lambda r, q: r.calls(_numbers(q, "seqs"), q.query_params.get("set")),
    "call/{seq:int}": lambda r, q: r.call(q.path_params["seq"]),
    "call/{seq:int}/save/{form}": lambda r, q: r.arguments(q.path_params["seq"], q.path_params["form"]),
    "content/{seq:int}/{name}": lambda r, q: r.content(q.path_params["seq"], q.path_params["name"]),
    "content/{seq:int}/{name}/fields": lambda r, q: r.buffers.fields(
        r.content(q.path_params["seq"], q.path_params["name"]), q.query_params.get("format", "")
    ),
    "filter/{query}": lambda r, q: r.matches_so_far(q.path_params["query"], _number(q, "buckets")),
    "set/{key}": lambda r, q: r.matches(q.path_params["key"], _number(q, "at"), _number(q, "count")),
    "set/{key}/place": lambda r, q: r.place(q.path_params["key"], _number(q, "seq")),
    "set/{key}/density": lambda r, q: r.density(q.path_params["key"], _number(q, "buckets")),
    "state/{seq:int}": lambda r, q: r.state(q.path_params["seq"], "all" in q.query_params),
    "program/{seq:int}": lambda r, q: r.program(q.path_params["seq"]),
    "program/{seq:int}/cost": lambda r, q: r.program_cost(q.path_params["seq"]),
    "difference": lambda r, q: r.difference(_number(q, "a"), _number(q, "b")),
    "picture/{seq:int}/png": lambda r, q: r.pictures.png(_seq(r, q), _attachment(q)),
    "picture/{seq:int}/pixel": lambda r, q: r.looks.pixel(_seq(r, q), _attachment(q), _number(q, "x"), _number(q, "y")),
    "masks/{seq:int}": lambda r, q: r.looks.masks(_seq(r, q)),
    "overdraw/{seq:int}": lambda r, q: r.looks.overdraw(_seq(r, q)),
    "mesh/{seq:int}": lambda r, q: r.looks.mesh(_seq(r, q)),
    "pass/{seq:int}/mesh": lambda r, q: r.looks.whole_pass(_seq(r, q)),
    "pass/{seq:int}/mesh/obj": lambda r, q: r.looks.pass_file(_seq(r, q)),
    "mesh/{seq:int}/{kind}": lambda r, q: r.looks.mesh_file(_seq(r, q), q.path_params["kind"]),
    "picture/{seq:int}": lambda r, q: r.pictures.picture(
        _seq(r, q), _attachment(q), _number(q, "on") if "on" in q.query_params else 0
    ),
    "series": lambda r, q: r.series(q.query_params["of"]) if "of" in q.query_params else r.all_series(),
    "marks": lambda r, q: {"more": r.time.looked(findings="findings" in q.query_params), "marks": r.time.marks()},
    "drawn": lambda r, _: r.draws_of_frames(),
    "thumbnails": lambda r, _: r.strip.frames(),
    "thumbnail/{frame:int}": lambda r, q: r.strip.answer(q.path_params["frame"]),
    "small/{seq:int}": lambda r, q: r.small.drawn(_seq(r, q)),
    "small/{seq:int}/{kind}/{group:int}/{name:int}": lambda r, q: r.small.held(
        _seq(r, q), *_object_of(q)[1:], q.query_params.get("path", "")
    ),
    "buffer/{seq:int}/{group:int}/{name:int}": _buffer,
    "buffer/{seq:int}/{group:int}/{name:int}/range": _buffer_range,
    "buffer/{seq:int}/{group:int}/{name:int}/raw": lambda r, q: r.buffers.content(*_buffer_of(r, q)),
    "buffer/{seq:int}/{group:int}/{name:int}/csv": lambda r, q: r.buffers.csv(
        *_buffer_of(r, q), q.query_params.get("format", "")
    ),
    "texture/{seq:int}/{kind}/{group:int}/{name:int}": lambda r, q: r.texture(*_object_of(q)),
    "texture/{seq:int}/{kind}/{group:int}/{name:int}/ktx": lambda r, q: r.ktx(*_object_of(q)),
}
_OF_ALL: dict[str, Callable[[Seen, Request], object]] = {
    "schema": lambda r, _: r.schema(),
    "rules": lambda *_: rules(),
    "timeline": lambda r, q: _timeline(r, findings="findings" in q.query_params),
    "tracks": _levels,
    "area": lambda r, q: r.time.tracks.area(_numbers(q, "ids"), _number(q, "t0"), _number(q, "t1")),
    "beside/{track:int}": lambda r, q: r.time.tracks.beside(
        q.path_params["track"], _number(q, "at"), -1 if "back" in q.query_params else 1
    ),
    "arrows": lambda r, q: r.time.tracks.arrowed(_number(q, "t0"), _number(q, "t1")),
    "way/{span:int}": lambda r, q: r.time.tracks.steps(q.path_params["span"]),
}
_OF_KERNELS: dict[str, Callable[[KernelView, Request], object]] = {
    "figures": lambda r, q: r.figures(_number(q, "t0"), _number(q, "t1")),
    "usage": lambda r, q: r.usage(_number(q, "t0"), _number(q, "t1")),
    "lengths": lambda r, q: r.lengths(_number(q, "t0"), _number(q, "t1")),
    "contention": lambda r, q: r.contention(_number(q, "t0"), _number(q, "t1")),
    "events": lambda r, q: r.events(_number(q, "t0"), _number(q, "t1")),
}
_OF_PAIRS: dict[str, Callable[[Pair, Request], object]] = {
    "frames": lambda p, q: p.listing(_query(q), _sets(q)),
    "outline/{pair:int}": lambda p, q: p.outline(q.path_params["pair"], _sets(q)),
    "states": lambda p, q: p.states(_number(q, "a"), _number(q, "b")),
    "resources": lambda p, _: p.resources(),
    "pictures": lambda p, q: p.pictures(_number(q, "a"), _number(q, "b"), _attachment(q)),
    "compared": lambda p, q: p.compared(begin="begin" in q.query_params),
}
# Addresses below /api/RECORDING/ that take text.
_TO_RECORDINGS: dict[str, Callable[[Recording, str, Request], object]] = {
    "filter": lambda r, text, q: r.filter(text, _query(q)),
    "whatif": lambda r, text, _: r.whatif.file(text),
    "whatif/{seq:int}": lambda r, text, q: r.whatif.picture(_seq(r, q), text),
    "whatif/{seq:int}/times": lambda r, text, q: r.whatif.times(_seq(r, q), text, _number(q, "done")),
}
_TO_ALL: dict[str, Callable[[Seen, str, Request], object]] = {
    "sql": lambda r, text, q: r.sql(text, _query(q)),
    "save/{form}": lambda r, text, q: r.save(text, q.path_params["form"], _query(q)),
    "track": _own,
}
