"""The manager: one process a user that looks after the programs which draw."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import fnmatch
import functools
import os
import resource
import secrets
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from drawtap.capture import control, launch
from drawtap.errors import DrawtapError, UnavailableError, UsageError, did_you_mean
from drawtap.live import pages
from drawtap.live.alarm import Event, Watch, default_alarms
from drawtap.live.config import Config, load_config
from drawtap.live.folder import Folder, make_folder, state_folder
from drawtap.live.journal import Journal
from drawtap.live.kept import KeptLimits
from drawtap.live.policy import Policy, Snapshot, combined, decide
from drawtap.live.program import Limit, Program
from drawtap.live.programs import Managed, Programs
from drawtap.live.signal import Sensors, Signals

_ANSWER_SECONDS = 10.0  # for a program to obey a letter: it looks at its next frame
_MOST_TRACES = 16
_ALARM_NS = 450_000_000  # between two looks of the alarms: no earlier alarm would matter

if TYPE_CHECKING:
    from drawtap.live.observer import Observer


@dataclass(eq=False)
class Trace:
    """A recording of a running program that somebody asked for; the recorder listens in `folder`."""

    token: str
    program: Managed
    folder: Path
    frames: int = 0
    begun: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Manager:
    """Look at all programs every period, let policies decide, tell the programs.

    Lives in one asyncio loop; nothing here blocks. Raises UnavailableError from `start` where another one runs.
    """

    def __init__(self, folder: Folder, config: Config, journal: Journal, *, shared: bool = False) -> None:
        self.folder = folder
        self.config = config
        self.journal = journal
        self.shared = shared
        self.started_ns = time.monotonic_ns()
        self.programs = Programs(journal, config.settings.max_programs)
        self.programs.found = self._found
        self.programs.lost = self._lost
        self.seen = Snapshot(0, ())
        self.notes: tuple[str, ...] = ()
        self.traces: dict[str, Trace] = {}
        self.policies: dict[str, Policy] = config.make_policies()
        self.config_error: str | None = None
        self._memories: dict[str, object] = {}
        self._config_seen = _stamp(config.path)
        self._sensors = Sensors(without=config.settings.without)
        self._watch = Watch(config.alarms)
        self.kept = KeptLimits(folder.kept)
        self.observed: tuple[Program, ...] = ()
        self.not_observed: str | None = None
        self._observer: Observer | None = None
        self._sensed_ns = self._watched_ns = 0
        self._lock = -1
        self._stop = asyncio.Event()
        self._answers: dict[tuple[int, int], asyncio.Future[tuple[int, str]]] = {}
        self._ticks = 0
        self._look_s = 0.0  # processor time of a look, of late

    # ---- life ------------------------------------------------------------------------------------------------

    def handle_signals(self) -> None:
        """End with SIGTERM and SIGINT, read the configuration again with SIGHUP."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self.reload)

    def stop(self) -> None:
        """End `run`."""
        self._stop.set()

    def start(self) -> None:
        """Take the folder and listen for programs."""
        make_folder(self.folder, shared=self.shared)
        self._take_lock()
        _raise_descriptor_limit()
        self.kept.load()
        for stale in self.folder.path.glob("trace-*"):
            shutil.rmtree(stale, ignore_errors=True)
        self.programs.listen(bind(self.folder.programs, socket.SOCK_SEQPACKET, 0o666 if self.shared else 0o600))
        self.journal.say("started", pid=os.getpid(), folder=str(self.folder.path), signals=list(self._sensors.present))
        named = [alarm.name for alarm in self._watch.alarms]
        usual = self.config.alarms == default_alarms()
        self.journal.say("alarms", on=named, because="none is configured: all are on" if usual else "the configuration")
        for name, why in self._sensors.absent.items():
            self.journal.say("not-available", signal=name, because=why)
        self._begin_to_observe()

    def close(self) -> None:
        """Free all programs and leave nothing behind."""
        for trace in list(self.traces.values()):
            self.end_trace(trace)
        self.programs.close()
        self._sensors.close()
        if self._observer:
            self._observer.close()
            self._observer = None
        self.folder.programs.unlink(missing_ok=True)
        if self._lock >= 0:
            self.folder.lock.unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = -1
        self.journal.say("stopped", pid=os.getpid())

    def _begin_to_observe(self) -> None:
        if not self.config.settings.observe:
            return
        from drawtap.live.observer import Observer

        try:
            self._observer = Observer()
        except UnavailableError as error:
            self.not_observed = str(error)
            self.journal.say("not-available", signal="observer", because=self.not_observed)

    def _observe(self, now: int) -> None:
        # Programs that nobody started under drawtap: they are seen, and cannot be held back.
        if self._observer is None:
            return
        if self._ticks % 16 == 1:
            self._observer.look_for_libraries()
        self._observer.poll()
        own = {managed.pid for managed in self.programs.by_id.values()}
        self.observed = tuple(p for p in self._observer.programs(now) if p.pid not in own)

    def _take_lock(self) -> None:
        self._lock = os.open(self.folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            said = os.pread(self._lock, 32, 0).decode("ascii", "replace").strip()
            os.close(self._lock)
            self._lock = -1
            if error.errno not in (errno.EWOULDBLOCK, errno.EAGAIN):
                raise
            raise UnavailableError(
                f"a manager runs already in {self.folder.path}" + (f": process {said}" if said.isdigit() else ""),
                hint="drawtap top --once asks it; stop it before you start another one",
            ) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)

    # ---- every period ----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until a signal or `stop`. `start` first, `close` afterwards."""
        due = time.monotonic()
        while not self._stop.is_set():
            began = time.thread_time()
            try:
                self.tick()
            except Exception as error:  # one bad look must not end the manager: the next may be better
                self.journal.say_seldom("fault", "tick", "error", text=f"{type(error).__name__}: {error}")
            self._look_s += (time.thread_time() - began - self._look_s) / 8
            due = max(due + self.period, time.monotonic())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), max(0.001, due - time.monotonic()))

    @property
    def period(self) -> float:
        """Return the seconds from one look to the next: those that are set, more where looks would take too much."""
        settings = self.config.settings
        longest = max(settings.period, min(1.0, settings.lease / 4))
        return min(max(settings.period, self._look_s / settings.load), longest)

    def tick(self) -> None:
        """Look at every program, decide, and tell."""
        self._ticks += 1
        now = time.monotonic_ns()
        lease = now + round(self.config.settings.lease * 1e9)
        managed = list(self.programs.by_id.values())
        for each in managed:
            each.control.renew(lease)
        self._look_at_config()
        self._observe(now)
        known = tuple(each.program(now) for each in managed)
        self.seen = Snapshot(now, known, self._signals(known, now))
        self.decide()
        if now - self._watched_ns >= _ALARM_NS:
            self._watched_ns = now
            self._alarm(managed)

    def _alarm(self, managed: Sequence[Managed]) -> None:
        events = self._watch.look(self.seen)
        for each in managed:
            each.alarms = self._watch.on(each.id)
        for failed in self._watch.act(events, self):
            self.journal.say_seldom("action-failed", failed, "warning", text=failed)

    def _signals(self, known: Sequence[Program], now: int) -> Signals:
        # They are means over a second, and dear: files of every process are read.
        if known and self.policies and now - self._sensed_ns >= 990_000_000:
            self._sensed_ns = now
            return self._sensors.read([p.pid for p in known], now)
        return self.seen.signals

    def decide(self) -> None:
        """Let people, profiles and policies say what holds for each program."""
        decisions = []
        for name, policy in self.policies.items():
            try:
                decision = decide(policy, name, self.seen, self._memories.get(name))
            except Exception as error:
                self.journal.say_seldom("fault", name, "error", policy=name, text=f"{type(error).__name__}: {error}")
                continue
            self._memories[name] = decision.memory
            decisions.append(decision)
        notes = tuple(dict.fromkeys(note for d in decisions for note in d.notes))
        for note in notes:
            if note not in self.notes:
                self.journal.say_seldom("note", note, text=note)
        self.notes = notes
        chosen = combined(decisions)
        for managed in self.programs.by_id.values():
            self._hold(managed, chosen.get(managed.id))
        limits = [(p, self._limit_of(p.id)) for p in self.seen.programs]
        now = tuple([p if p.limit is limit or p.limit == limit else replace(p, limit=limit) for p, limit in limits])
        self.seen = replace(self.seen, programs=now)

    def _limit_of(self, key: int) -> Limit | None:
        managed = self.programs.by_id.get(key)
        return managed.limit if managed else None

    def _hold(self, managed: Managed, decided: Limit | None) -> None:
        settings = self.config.settings
        profile = managed.profile
        # The lowest holds: of what a policy says, what the profile sets, and what the program was started with.
        for own in (managed.profile_limit, managed.own_limit):
            if own and (decided is None or decided.fps > own.fps):
                decided = own
        limit = decided
        if managed.user_limit is not None:
            limit = managed.user_limit if managed.user_limit.fps > 0 else None
        if limit:
            pacing = (profile and profile.pacing) or (
                limit.pacing if limit.origin in ("user", "start") else settings.pacing
            )
            if limit.pacing != pacing:
                limit = replace(limit, pacing=pacing)
        before, managed.limit = managed.limit, limit
        if limit is before:
            return
        self._tell(managed)
        if _differs(before, limit):
            about = f"{limit.fps:g} FPS: {limit.reason}" if limit else "no limit"
            who = limit.origin if limit else None
            self.journal.say_seldom("limit", managed.id, pid=managed.pid, name=managed.about.name, text=about, by=who)

    def _tell(self, managed: Managed) -> None:
        managed.control.hold(managed.limit, spin_ns=self.config.settings.spin_us * 1000)

    # ---- configuration ---------------------------------------------------------------------------------------

    def _look_at_config(self) -> None:
        if self._ticks % 4 or self.config.path is None:
            return
        stamp = _stamp(self.config.path)
        if stamp != self._config_seen and stamp is not None:
            self._config_seen = stamp
            self.reload()

    def reload(self) -> None:
        """Read the configuration again. A wrong one is reported, and the old one stays."""
        path = self.config.path
        if path is None:
            return
        try:
            config = load_config(path)
            policies = config.make_policies()
        except DrawtapError as error:
            self.config_error = str(error)
            self.journal.say("config-refused", "warning", text=error.message, hint=error.hint)
            return
        self.config_error = None
        self.config = config
        self.set_policies(policies)
        if config.alarms != self._watch.alarms:
            self._watch = Watch(config.alarms)
        self.programs.most = config.settings.max_programs
        for managed in self.programs.by_id.values():
            self._find_profile(managed)
            self._tell(managed)
        self.journal.say("config", file=str(path), policies=list(policies), profiles=len(config.profiles))

    def set_policies(self, policies: dict[str, Policy]) -> None:
        """Let these policies decide from now on. Those that stay as they are keep what they remember."""
        same = [name for name, policy in policies.items() if self.policies.get(name) == policy]
        self._memories = {name: self._memories.get(name) for name in same}
        self.policies = policies

    def _found(self, managed: Managed) -> None:
        self._find_profile(managed)
        if self.kept.restore(managed):
            self.journal.say("restored", pid=managed.pid, name=managed.about.name)
        managed.answered = lambda kind, number, text: self._answered(managed, kind, number, text)
        managed.control.renew(time.monotonic_ns() + round(self.config.settings.lease * 1e9))
        self._hold(managed, None)
        self._tell(managed)

    def _find_profile(self, managed: Managed) -> None:
        who = managed.about
        profile = self.config.profile_for(who.name, who.exe, who.cgroup, managed.peer.uid)
        managed.profile = profile
        managed.profile_given = profile.given() if profile else {}
        managed.profile_limit = (
            Limit(profile.fps, f"the profile {profile.title}", "profile", chosen=True)
            if profile and profile.fps
            else None
        )

    def _lost(self, managed: Managed) -> None:
        for trace in list(self.traces.values()):
            if trace.program is managed:
                self.forget_trace(trace)

    # ---- what people ask for ---------------------------------------------------------------------------------

    def select(self, which: int | str, uid: int | None = None) -> list[Managed]:
        """Return the programs that a process number or a name (with `*` and `?`) means, of user `uid` (None: of all).

        Raises UsageError where there is none, UnavailableError where it can only be seen.
        """
        mine = [m for m in self.programs.by_id.values() if uid in (None, m.peer.uid)]
        text = str(which)
        if text.isdigit():
            selected = [m for m in mine if m.pid == int(text)]
        else:
            selected = [m for m in mine if any(fnmatch.fnmatchcase(n, text) for n in (m.about.name, m.about.exe.name))]
        if not selected:
            self._refuse_observed(text, uid)
            names = [m.about.name for m in mine]
            near = did_you_mean(text, names) or (
                f"there are: {', '.join(f'{m.about.name} ({m.pid})' for m in mine[:10])}"
                if mine
                else "no program is managed; drawtap run -- PROGRAM starts one"
            )
            known = control.described(int(text)) if text.isdigit() else None
            if known is not None:
                whose = "" if uid is None else "a program of yours "
                hint = f"drawtap run starts such programs; {near}"
                raise UsageError(f"{known} is not {whose}under the manager", hint=hint)
            if text.isdigit():
                raise UsageError(f"there is no process {text}", hint=near)
            raise UsageError(f"the manager knows no program {text!r}", hint=near)
        return selected

    def _refuse_observed(self, text: str, uid: int | None) -> None:
        for program in self.observed:
            if uid in (None, program.uid) and (str(program.pid) == text or fnmatch.fnmatchcase(program.name, text)):
                raise UnavailableError(
                    f"{program.name} ({program.pid}) is only observed: it was not started under drawtap",
                    hint="drawtap run -- PROGRAM starts one that can be limited and recorded",
                )

    def limit(self, managed: Managed, limit: Limit | None, surface: int | None = None) -> None:
        """Set what people say of a program (or one of its surfaces): a limit, FPS 0 for none ever, None to say no more.

        Raises UsageError for a surface that the program does not have.
        """
        if surface is None:
            managed.user_limit = limit
            self.keep(managed)
            self.decide()
            return
        known = managed.program(time.monotonic_ns()).surfaces  # as they are numbered where they are shown
        if not 1 <= surface <= len(known):
            raise UsageError(f"{managed.about.name} has no surface {surface}", hint=f"it has {len(known)}")
        if not managed.control.hold_surface(known[surface - 1].key, limit):
            raise UnavailableError("no more surfaces of the program can be limited by themselves")
        managed.surface_limits.pop(known[surface - 1].key, None)
        if limit:
            managed.surface_limits[known[surface - 1].key] = limit
        self.keep(managed)

    def keep(self, managed: Managed) -> None:
        """Write down what people said of a program, for a manager after this one."""
        self.kept.save(managed)
        if self.kept.failed:
            self.journal.say_seldom("not-kept", "kept", "warning", text=self.kept.failed)

    # ---- what alarms ask for: drawtap.live.alarm.Desk ----------------------------------------------------------

    def trace(self, program: Program, frames: int, reason: str) -> str | None:
        """Record a program's next frames to the folder of such recordings."""
        managed = self.programs.by_id.get(program.id)
        if managed is None or managed.peer.uid != os.geteuid():
            return "only a program's own user can record it"
        if managed.recorded:
            return "it has a recorder of its own"
        try:
            output = self._trace_name(program)
            words = [
                sys.executable,
                "-m",
                "drawtap",
                "record",
                "--pid",
                str(managed.pid),
                "--frames",
                str(frames),
                "--quiet",
            ]
            environment = {"DRAWTAP_MANAGER": str(self.folder.programs)}
            failed = self._failure("trace-failed", pid=program.pid, name=program.name, file=str(output))
            launch.start_aside([*words, "--why", reason[:200], "-o", str(output)], environment, failed)
        except (OSError, DrawtapError) as error:
            return str(error)
        self.journal.say("trace-begun", pid=program.pid, name=program.name, reason=reason, file=str(output))
        return None

    def mark(self, program: Program, text: str) -> str | None:
        """Put a remark into the recording of a program."""
        managed = self.programs.by_id.get(program.id)
        if managed is None or not managed.stats.recording:
            return "it is not recorded"
        try:
            managed.send(pages.LETTER_MARK, text.encode()[:111].decode("utf-8", "ignore"))
        except DrawtapError as error:
            return str(error)
        return None

    def run_command(self, command: Sequence[str], settings: Mapping[str, str], event: Event) -> str | None:
        """Start a command for an event, with `settings` in its environment, and tell the log should it fail."""
        about = {"pid": event.program.pid, "name": event.program.name, "alarm": event.rule, "command": list(command)}
        try:
            launch.start_aside(command, settings, self._failure("action-failed", **about), heard=False)
        except DrawtapError as error:
            return str(error)
        return None

    def _failure(self, what: str, **about: object) -> Callable[[int, str], None]:
        """Return what tells the log of a command that failed; it is called in another thread."""
        loop = asyncio.get_running_loop()

        def ended(code: int, said: str) -> None:
            how = f"ended by signal {-code}" if code < 0 else f"exit code {code}"
            say = functools.partial(self.journal.say, what, "warning", **about, code=code, text=said or how)
            with contextlib.suppress(RuntimeError):  # the manager may have ended before
                if code:
                    loop.call_soon_threadsafe(say)

        return ended

    def log(self, record: Mapping[str, object]) -> None:
        """Write what an alarm says to the log."""
        self.journal.say("alarm", "warning", **{k: v for k, v in record.items() if v is not None})

    def _trace_name(self, program: Program) -> Path:
        settings = self.config.settings
        folder = Path(settings.traces).expanduser() if settings.traces else state_folder() / "traces"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        old = sorted(folder.glob("alarm-*.dtap"), key=lambda path: path.stat().st_mtime)
        for stale in old[: max(0, len(old) - settings.max_traces + 1)]:
            stale.unlink(missing_ok=True)
        # A program's name is its own business; a file's is ours.
        name = "".join(c if c.isalnum() or c in "-_." else "_" for c in program.name)[:40]
        return folder / f"alarm-{time.strftime('%Y%m%d-%H%M%S')}-{name}-{program.pid}.dtap"

    # ---- traces ----------------------------------------------------------------------------------------------

    def make_trace(self, managed: Managed, frames: int) -> Trace:
        """Prepare the recording of a running program. Raises UnavailableError where that cannot be."""
        if managed.recorded:
            raise UnavailableError(
                f"{managed.about.name} was started with a recorder", hint=f"drawtap trigger {managed.pid} asks that"
            )
        if any(t.program is managed for t in self.traces.values()):
            raise UnavailableError(f"{managed.about.name} is being recorded already")
        if len(self.traces) >= _MOST_TRACES:
            raise UnavailableError(f"{_MOST_TRACES} programs are being recorded already")
        token = secrets.token_hex(4)
        folder = self.folder.session(token)
        folder.mkdir(mode=0o700)
        if managed.peer.uid != os.geteuid() and os.geteuid() == 0:
            os.chown(folder, managed.peer.uid, -1)
        trace = self.traces[token] = Trace(token, managed, folder, frames)
        return trace

    async def begin_trace(self, trace: Trace) -> None:
        """Tell the program to record, now that the recorder listens. Raises UnavailableError where it does not."""
        kind, text = await self._ask(trace.program, pages.LETTER_TRACE, trace.token, trace.frames)
        if kind != pages.LETTER_BEGUN:
            raise UnavailableError(f"{trace.program.about.name} does not record: {text}")
        trace.begun = True
        self.journal.say("trace", pid=trace.program.pid, name=trace.program.about.name, frames=trace.frames or None)

    def end_trace(self, trace: Trace) -> None:
        """Tell the program to record no more, and forget about it."""
        if trace.begun and not trace.over.is_set():
            with contextlib.suppress(DrawtapError):
                trace.program.send(pages.LETTER_STOP, trace.token)
        self.forget_trace(trace)

    def forget_trace(self, trace: Trace) -> None:
        """Clean up after a trace that is over."""
        trace.over.set()
        if self.traces.pop(trace.token, None) is not None:
            shutil.rmtree(trace.folder, ignore_errors=True)

    async def _ask(self, managed: Managed, kind: int, text: str, frames: int) -> tuple[int, str]:
        number = managed.send(kind, text, frames)
        future: asyncio.Future[tuple[int, str]] = asyncio.get_running_loop().create_future()
        self._answers[managed.id, number] = future
        try:
            return await asyncio.wait_for(future, _ANSWER_SECONDS)
        except TimeoutError:
            raise UnavailableError(
                f"{managed.about.name} does not answer: it looks at its next frame, and shows none"
            ) from None
        finally:
            self._answers.pop((managed.id, number), None)

    def _answered(self, managed: Managed, kind: int, number: int, text: str) -> None:
        future = self._answers.get((managed.id, number))
        if future and not future.done():
            future.set_result((kind, text))
        if kind == pages.LETTER_OVER:
            for trace in self.traces.values():
                if trace.program is managed and trace.begun:
                    trace.over.set()


def bind(path: Path, kind: int, mode: int) -> socket.socket:
    """Return a UNIX socket bound to `path` with these permissions; a stale one is replaced."""
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, kind | socket.SOCK_CLOEXEC)
    before = os.umask(0o777 & ~mode)
    try:
        made.bind(str(path))
    except OSError as error:
        made.close()
        raise UnavailableError(f"cannot listen at {path}: {error.strerror or error}") from error
    finally:
        os.umask(before)
    path.chmod(mode)
    return made


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    if path is None:
        return None
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


def _differs(before: Limit | None, now: Limit | None) -> bool:
    # An adaptive policy moves its limits a little all the time: that is no news.
    if before is None or now is None:
        return before is not now
    return before.origin != now.origin or abs(before.fps - now.fps) > 0.1 * before.fps


def _raise_descriptor_limit() -> None:
    # A program takes five.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = hard if hard != resource.RLIM_INFINITY else 65536
    if soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, 65536), hard))


def titles(selected: Sequence[Managed]) -> str:
    """Return names and numbers of programs for people."""
    return ", ".join(f"{m.about.name} ({m.pid})" for m in selected)


def totals(manager: Manager) -> Mapping[str, object]:
    """Return facts of the manager itself."""
    settings = manager.config.settings
    return {
        "pid": os.getpid(),
        "uptime_s": round((time.monotonic_ns() - manager.started_ns) / 1e9, 3),
        "period_s": round(manager.period, 3),
        "lease_s": settings.lease,
        "policies": list(manager.policies),
        "config": str(manager.config.path) if manager.config.path else None,
        "config_error": manager.config_error,
        "programs": len(manager.programs.by_id),
        "refused": manager.programs.refused,
        "notes": list(manager.notes),
        "not_available": {
            **manager.seen.signals.absent,
            **({"observer": manager.not_observed} if manager.not_observed else {}),
        },
    }
