"""Simulate the scheduler of Intel GVT-g, and write what a kernel with probes would have recorded.

The rules follow the scheduler in Linux 4.14, the kernel of Belkhiri & Dagenais 2024:

- A timer of 1 ms looks at the virtual GPUs, least recently chosen first, and takes the first that has work and time
  left; if none has, the idle one. All engines go to it together.
- It goes there only when no engine works any more; until then nothing new is dispatched.
- Every period (100 ms) each virtual GPU gets its share, `period * weight / sum of weights`. Its credit or debt from the
  period before is kept, for ten periods; then all start afresh.
- The charge is the time between being scheduled in and out, whether or not its engines worked, and falls due when it is
  scheduled out. (Newer kernels charge at every look: `charge="tick"`.)
- A queued workload wakes nobody: the timer finds it.
- One workload of an engine is in flight at a time.

Left out are memory, start-up priority, the cost of a switch beyond `switch_ns`, and other engines of a client.

The result is columns of numbers, one array a field and event, written as CTF by `drawtap.system.ctf_writer`.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Final

from drawtap.errors import UsageError, did_you_mean
from drawtap.system.ctf_writer import Columns

US: Final = 1_000
MS: Final = 1_000_000
SECOND: Final = 1_000_000_000

ARRIVALS: Final = ("answers", "periodic", "poisson", "recorded")
EXECUTIONS: Final = ("even", "exponential")

# The durations of the steps of a request that are no waiting and no work.
_ADD_NS, _READY_NS, _IN_NS, _OUT_NS, _COMPLETE_NS = 1 * US, 2 * US, 3 * US, 1 * US, 2 * US


@dataclass(frozen=True, slots=True)
class Client:
    """A program in a virtual machine that asks for work, `count` times in all.

    `arrivals` says when: `answers`, `gap_ns` after an answer, with `depth` requests on their way at once. The others
    are open, they wait for no answer: `periodic`, every `gap_ns`; `poisson`, with exponential gaps of the mean
    `gap_ns`; `recorded`, at `times_ns` after the start. Periodic gaps, those after answers and `execution_ns` vary by
    the share `jitter`; with `executions` `exponential`, `execution_ns` is the mean of an exponential distribution.
    """

    execution_ns: int
    gap_ns: int
    count: int
    start_ns: int = 0
    depth: int = 1
    engine: int = 0
    jitter: float = 0.05
    name: str = "client"
    arrivals: str = "answers"
    executions: str = "even"
    times_ns: tuple[int, ...] = ()

    def check(self, owner: str) -> None:
        """Raise UsageError where it makes no sense; `owner` is its virtual GPU."""
        if self.execution_ns <= 0 or self.gap_ns < 0 or self.count < 1 or self.depth < 1:
            raise UsageError(
                f"the client {self.name} of {owner} asks for nothing", hint="execution, count and depth are above 0"
            )
        if self.count > _MOST_REQUESTS or not 0 <= self.jitter < 1:
            raise UsageError(f"the client {self.name} of {owner}: too many requests, or jitter not below 1")
        for what, value, known in (
            ("arrivals", self.arrivals, ARRIVALS),
            ("executions", self.executions, EXECUTIONS),
        ):
            if value not in known:
                raise UsageError(
                    f"the client {self.name} of {owner}: there are no {what} {value!r}",
                    hint=did_you_mean(value, known) or f"there are: {', '.join(known)}",
                )
        if self.arrivals != "answers" and self.depth != 1:
            raise UsageError(
                f"the client {self.name} of {owner} waits for no answer, so it has no depth", hint="leave depth out"
            )
        if self.arrivals in ("periodic", "poisson") and not self.gap_ns:
            raise UsageError(f"the client {self.name} of {owner} asks without end at once", hint="a gap above 0")
        if (self.arrivals == "recorded") != bool(self.times_ns) or (self.times_ns and not self._times_fit()):
            raise UsageError(
                f"the client {self.name} of {owner}: each request needs one recorded arrival, in order of time"
            )

    def _times_fit(self) -> bool:
        times = self.times_ns
        return len(times) == self.count and times[0] >= 0 and all(a <= b for a, b in pairwise(times))


@dataclass(frozen=True, slots=True)
class Vgpu:
    """A virtual GPU: its weight, 1 to 16, and who works on it. Without clients it is idle."""

    name: str
    weight: int = 8
    clients: tuple[Client, ...] = ()


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Settings of the scheduler.

    `carry_periods`: for how many periods what is left or owed is kept; 1 keeps nothing. `work_conserving`: a virtual
    GPU that has used its time goes on while nobody else wants to. `preemption`: work is taken off an engine when it is
    somebody else's turn, and goes on later. `slowdown`: factor on executions while there is more than one virtual GPU.
    """

    period_ns: int = 100 * MS
    tick_ns: int = 1 * MS
    carry_periods: int = 10
    work_conserving: bool = False
    preemption: bool = False
    charge: str = "out"  # or "tick"
    switch_ns: int = 0
    slowdown: float = 1.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """Virtual GPUs under a scheduler. `seed` makes a run repeatable."""

    name: str
    help: str
    vgpus: tuple[Vgpu, ...]
    scheduler: Scheduler = Scheduler()
    seed: int = 1

    def check(self) -> None:
        """Raise UsageError where the scenario makes no sense."""
        if not self.vgpus:
            raise UsageError("a scenario without virtual GPUs")
        for vgpu in self.vgpus:
            if not 1 <= vgpu.weight <= 16:
                raise UsageError(f"the weight {vgpu.weight} of {vgpu.name}", hint="GVT-g takes 1 to 16")
            for client in vgpu.clients:
                client.check(vgpu.name)
        s = self.scheduler
        if s.period_ns < s.tick_ns or s.tick_ns < US or s.carry_periods < 1 or s.slowdown <= 0 or s.switch_ns < 0:
            raise UsageError(
                "a scheduler that cannot be",
                hint="the period is at least the timer's, carry periods are 1 or more, the slow-down above 0",
            )


_MOST_REQUESTS = 5_000_000

# Figures of the paper: Gaussian's workloads are of about 18 ms in its section 5.2. Its run of 27 s at 80 % comes from
# 14,400 workloads of 1.5 ms with gaps of 0.2 ms. (Fewer long ones with longer gaps fit as well.)
_GAUSSIAN = Client(1500 * US, 200 * US, 14_400, name="gaussian", jitter=0.3)
_HOTSPOT = Client(800 * MS, 3 * MS, 25, name="hotspot")

SCENARIOS: Final[Mapping[str, Scenario]] = {
    s.name: s
    for s in (
        Scenario("alone", "Gaussian on the only virtual GPU.", (Vgpu("VM1", clients=(_GAUSSIAN,)),)),
        Scenario(
            "idle-neighbour",
            "Gaussian beside a virtual GPU of equal weight that does nothing.",
            (Vgpu("VM1", clients=(_GAUSSIAN,)), Vgpu("VM2")),
        ),
        Scenario(
            "slow-neighbour",
            "The same, with the slow-down that the paper's own figures imply (59 s at 45 % against 27 s at 80 %).",
            (Vgpu("VM1", clients=(_GAUSSIAN,)), Vgpu("VM2")),
            Scheduler(slowdown=1.23),
        ),
        Scenario(
            "hotspot",
            "Gaussian beside Hotspot, whose workloads of 800 ms are longer than a period.",
            (Vgpu("VM1", clients=(_GAUSSIAN,)), Vgpu("VM2", clients=(_HOTSPOT,))),
        ),
    )
}

VARIANTS: Final[Mapping[str, str]] = {
    "as it is": "the scheduler of the scenario",
    "no carry": "what is left or owed is forgotten after every period",
    "work conserving": "a virtual GPU may use time that nobody else wants",
    "preemption": "work is taken off an engine when it is somebody else's turn",
    "both": "preemption, and work conserving",
    "short period": "periods of a tenth",
    "heavier first": "the first virtual GPU has weight 16, the others 4",
}


def variant(scenario: Scenario, name: str) -> Scenario:
    """Return the scenario with one of `VARIANTS`."""
    s = scenario.scheduler
    changes: dict[str, Scheduler] = {
        "as it is": s,
        "no carry": replace(s, carry_periods=1),
        "work conserving": replace(s, work_conserving=True),
        "preemption": replace(s, preemption=True),
        "both": replace(s, preemption=True, work_conserving=True),
        "short period": replace(s, period_ns=max(s.tick_ns, s.period_ns // 10)),
        "heavier first": s,
    }
    vgpus = scenario.vgpus
    if name == "heavier first":
        vgpus = tuple(replace(v, weight=4 if i else 16) for i, v in enumerate(vgpus))
    return replace(scenario, scheduler=changes[name], vgpus=vgpus)


@dataclass(slots=True)
class _Workload:
    vgpu: int
    client: int
    number: int  # of the workload
    engine: int
    remaining_ns: int
    seqno: int = 0
    context: int = 0
    guest_seqno: int = 0


@dataclass(slots=True)
class _State:
    # A virtual GPU while the simulation runs; index 0 is the idle one.
    left_ns: float = 0
    share_ns: float = 0
    since_ns: int = 0
    queues: dict[int, deque[_Workload]] = field(default_factory=dict)

    def pending(self) -> bool:
        return any(self.queues.values())


class Simulation:
    """One run. `events` has the columns of what was recorded, `finished_ns` when each client was done.

    `stopped`: not all clients were done at `until_ns`.
    """

    def __init__(self, scenario: Scenario, *, until_ns: int = 600 * SECOND) -> None:
        scenario.check()
        self.scenario = scenario
        self.rules = scenario.scheduler
        self.events = _Recorder(new_names=scenario.scheduler.preemption, seed=scenario.seed)
        self.finished_ns: dict[tuple[int, int], int] = {}
        self.end_ns = 0
        self.stopped = False
        self._until_ns = until_ns
        self._random = random.Random(scenario.seed)
        self._now = 0
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0
        self._states = [_State() for _ in range(len(scenario.vgpus) + 1)]
        self._lru = list(range(1, len(self._states)))
        self._current = 0
        self._next: int | None = None
        self._reschedule = False
        self._flying: dict[int, tuple[_Workload, int, int]] = {}  # engine -> (workload, begin, event)
        self._cancelled: set[int] = set()
        self._balances = 0
        self._workloads = 0
        self._seqno = 0
        self._global = 0
        self._open = {
            (v, c): client.count for v, vgpu in enumerate(scenario.vgpus, 1) for c, client in enumerate(vgpu.clients)
        }
        self._asked = dict.fromkeys(self._open, 0)

    def run(self) -> None:
        """Run to the end of all clients, or to `until_ns`."""
        for (v, c), _ in self._open.items():
            client = self.scenario.vgpus[v - 1].clients[c]
            if client.arrivals != "answers":
                self._at(self._arrival(client, client.start_ns, 0), partial(self._arrive, v, c))
                continue
            for _ in range(min(client.depth, client.count)):
                self._at(client.start_ns + self._spread(client.gap_ns, client.jitter), partial(self._ask, v, c))
        self._balance()
        self._at(self.rules.tick_ns, self._tick)
        while self._heap and any(self._open.values()):
            t, order, act = heapq.heappop(self._heap)
            if order in self._cancelled:
                self._cancelled.discard(order)
                continue
            if t > self._until_ns:
                self.stopped = True
                break
            self._now = t
            act()
        self.end_ns = self._until_ns if self.stopped else self._now

    def _at(self, t: int, act: Callable[[], None]) -> int:
        self._order += 1
        heapq.heappush(self._heap, (t, self._order, act))
        return self._order

    def _spread(self, ns: int, jitter: float) -> int:
        return max(0, round(ns * (1 + jitter * (2 * self._random.random() - 1))))

    # ---- clients -----------------------------------------------------------------------------------------

    def _arrival(self, client: Client, since: int, number: int) -> int:
        # When an open client asks for the number-th time, `since` being the time before.
        if client.arrivals == "recorded":
            return client.start_ns + client.times_ns[number]
        if client.arrivals == "poisson":
            return since + round(self._random.expovariate(1 / client.gap_ns))
        return since + self._spread(client.gap_ns, client.jitter)

    def _arrive(self, v: int, c: int) -> None:
        client, asked = self.scenario.vgpus[v - 1].clients[c], self._asked[v, c] + 1
        if asked < client.count:
            self._at(self._arrival(client, self._now, asked), partial(self._arrive, v, c))
        self._ask(v, c)

    def _execution(self, client: Client) -> float:
        if client.executions == "exponential":
            return self._random.expovariate(1 / client.execution_ns)
        return self._spread(client.execution_ns, client.jitter)

    def _ask(self, v: int, c: int) -> None:
        client = self.scenario.vgpus[v - 1].clients[c]
        if self._asked[v, c] == client.count:
            return
        self._asked[v, c] += 1
        self._workloads += 1
        slow = self.rules.slowdown if len(self.scenario.vgpus) > 1 else 1.0
        execution = max(1, round(self._execution(client) * slow))
        work = _Workload(v, c, self._workloads, client.engine, execution)
        self._states[v].queues.setdefault(client.engine, deque()).append(work)
        self.events.asked(self._now, work, self._asked[v, c])
        self.events.workload("queue", self._now, work)
        self._dispatch()

    def _dispatch(self) -> None:
        # The workload threads: one an engine, and only for the current virtual GPU.
        if self._reschedule or not self._current:
            return
        for engine, queue in self._states[self._current].queues.items():
            if queue and engine not in self._flying:
                self._start(queue[0])

    def _start(self, work: _Workload) -> None:
        if not work.seqno:
            self._seqno += 1
            work.seqno = self._seqno
            work.context = 16 + work.vgpu * 8 + work.client
            self.events.workload("submit", self._now, work)
            self.events.request("add", self._now + _ADD_NS, work)
            self.events.request("submit", self._now + _READY_NS, work)
        self._global += 1
        begin = self._now + _IN_NS
        self.events.request("in", begin, work, number=self._global)
        event = self._at(begin + work.remaining_ns, partial(self._done, work, self._global))
        self._flying[work.engine] = (work, begin, event)

    def _done(self, work: _Workload, number: int) -> None:
        del self._flying[work.engine]
        self._states[work.vgpu].queues[work.engine].popleft()
        self.events.notify(self._now, work, number)
        self.events.request("out", self._now + _OUT_NS, work, number=number, completed=1)
        self.events.workload("complete", self._now + _COMPLETE_NS, work)
        self.events.answered(self._now + _COMPLETE_NS, work)
        key = (work.vgpu, work.client)
        self._open[key] -= 1
        client = self.scenario.vgpus[work.vgpu - 1].clients[work.client]
        if self._open[key] and client.arrivals == "answers":
            again = self._now + _COMPLETE_NS + self._spread(client.gap_ns, client.jitter)
            self._at(again, partial(self._ask, *key))
        elif not self._open[key]:
            self.finished_ns[key] = self._now
        if self._reschedule:
            self._switch()
        else:
            self._dispatch()

    # ---- scheduler ---------------------------------------------------------------------------------------

    def _tick(self) -> None:
        self._at(self._now + self.rules.tick_ns, self._tick)
        if self._now % self.rules.period_ns < self.rules.tick_ns:
            self._balance()
        if self.rules.charge == "tick" or self.rules.preemption:
            self._charge()
        if self._next is None:
            self._next = self._choose()
            if self._next == self._current:
                self._next = None
        if self._next is not None:
            self._reschedule = True
            if self.rules.preemption:
                self._preempt()
            self._switch()

    def _balance(self) -> None:
        fresh = self._balances % self.rules.carry_periods == 0
        self._balances += 1
        total = sum(v.weight for v in self.scenario.vgpus)
        for state, vgpu in zip(self._states[1:], self.scenario.vgpus, strict=True):
            state.share_ns = self.rules.period_ns * vgpu.weight / total
            state.left_ns = state.share_ns if fresh else state.left_ns + state.share_ns

    def _choose(self) -> int:
        busy = [v for v in self._lru if self._states[v].pending()]
        chosen = next((v for v in busy if self._states[v].left_ns > 0), 0)
        if not chosen and self.rules.work_conserving and busy:
            chosen = busy[0]
        if chosen:
            self._lru.remove(chosen)
            self._lru.append(chosen)
        return chosen

    def _charge(self) -> None:
        if self._current:
            state = self._states[self._current]
            state.left_ns -= self._now - state.since_ns
            state.since_ns = self._now

    def _preempt(self) -> None:
        for engine, (work, begin, event) in list(self._flying.items()):
            if self._now <= begin:
                continue  # not on the engine yet: it goes first, and the switch waits for it
            self._cancelled.add(event)
            work.remaining_ns = max(1, work.remaining_ns - (self._now - begin))
            self.events.request("out", self._now, work, completed=0)
            del self._flying[engine]

    def _switch(self) -> None:
        if self._flying or self._next is None:
            return
        self._charge()
        self.events.switch(self._now, self._current, round(self._states[self._current].left_ns))
        self._current = self._next
        self._next = None
        self._reschedule = False
        self._states[self._current].since_ns = self._now
        if self.rules.switch_ns and self._current:
            self._at(self._now + self.rules.switch_ns, self._dispatch)
        else:
            self._dispatch()


_SERVICE_TID, _SERVICE_COMM = 1000, "gvt_service_thr"


class _Recorder:
    """Columns of events, in the order of their times once `columns` is called."""

    def __init__(self, *, new_names: bool, seed: int) -> None:
        # Linux 4.14 does not preempt; the events that tell of preemption are those of later kernels.
        self.new_names = new_names
        self._rows: dict[str, list[tuple[int, ...]]] = {}
        self._guests: dict[int, dict[str, list[tuple[int, ...]]]] = {}
        self._random = random.Random(seed)

    def _add(self, name: str, t: int, tid: int, *values: int) -> None:
        self._rows.setdefault(name, []).append((t, tid, *values))

    def workload(self, stage: str, t: int, work: _Workload) -> None:
        values: tuple[int, ...] = (work.vgpu, work.number, work.engine)
        if stage == "submit":
            values = (*values, work.context, work.seqno)
        elif stage == "queue":
            values = (*values, 1 + work.client, work.guest_seqno)
        tid = 2000 + work.vgpu * 10 if stage == "queue" else 1001 + work.engine
        self._add(f"gvt_workload_{stage}", t, tid, *values)

    def request(self, stage: str, t: int, work: _Workload, *, number: int = 0, completed: int = 1) -> None:
        tid = 1001 + work.engine
        if self.new_names:
            values: tuple[int, ...] = (0, work.context, *_place(work.engine), work.seqno)
            values += {"in": (0, 0), "out": (completed,)}.get(stage, ())
            self._add(f"i915_request_{stage}", t, tid, *values)
        else:
            values = (0, work.engine, work.context, work.seqno, number)
            self._add(f"i915_gem_request_{stage}", t, tid, *values, *((0,) if stage == "in" else ()))

    def notify(self, t: int, work: _Workload, number: int) -> None:
        if not self.new_names:
            self._add("intel_engine_notify", t, 0, 0, work.engine, number)

    def switch(self, t: int, vgpu: int, left_ns: int) -> None:
        self._add("gvt_sched_switch", t, _SERVICE_TID, vgpu, left_ns)

    # ---- inside of the guests ----------------------------------------------------------------------------

    def _late(self, mean_ns: int) -> int:
        return 200 + round(self._random.expovariate(1 / mean_ns))

    def _inside(self, stage: str, t: int, work: _Workload, *values: int) -> None:
        row = (t, 300 + work.client, 0, 1 + work.client, *_place(work.engine), work.guest_seqno, *values)
        self._guests.setdefault(work.vgpu, {}).setdefault(f"i915_request_{stage}", []).append(row)

    def asked(self, t: int, work: _Workload, number: int) -> None:
        """Record that a guest's driver gets its `number`-th request of a client and hands it over, which is trapped."""
        work.guest_seqno = number
        handed = t - self._late(4 * US)
        self._inside("add", handed - self._late(10 * US), work)
        self._inside("in", handed, work, 0, 0)

    def answered(self, t: int, work: _Workload) -> None:
        """Record that a guest's driver hears of the end, by an interrupt."""
        self._inside("out", t + self._late(20 * US), work, 1)

    def guest_columns(self, vgpu: int, clock: GuestClock) -> list[Columns]:
        """Return the events that a trace inside of a virtual machine would have, in the guest's time."""
        rows = self._guests.get(vgpu, {})
        return [
            Columns.from_rows(name, _FIELDS[name], [(clock.guest_time(t), *rest) for t, *rest in rows[name]])
            for name in sorted(rows)
        ]

    def columns(self) -> list[Columns]:
        """Return the events with their fields."""
        return [Columns.from_rows(name, _FIELDS[name], rows) for name, rows in sorted(self._rows.items()) if rows]


_OLD = (("dev", "u32"), ("ring", "u32"), ("ctx", "u64"), ("seqno", "u32"), ("global_seqno", "u32"))
_NEW = (("dev", "u32"), ("ctx", "u64"), ("class", "u16"), ("instance", "u16"), ("seqno", "u32"))
_FIELDS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "gvt_workload_queue": (
        ("vgpu_id", "u32"),
        ("workload_id", "u64"),
        ("ring_id", "u32"),
        ("guest_ctx", "u64"),
        ("guest_seqno", "u32"),
    ),
    "gvt_workload_submit": (
        ("vgpu_id", "u32"),
        ("workload_id", "u64"),
        ("ring_id", "u32"),
        ("ctx", "u64"),
        ("seqno", "u32"),
    ),
    "gvt_workload_complete": (("vgpu_id", "u32"), ("workload_id", "u64"), ("ring_id", "u32")),
    "gvt_sched_switch": (("vgpu_id", "u32"), ("left_ns", "s64")),
    "intel_engine_notify": (("dev", "u32"), ("ring", "u32"), ("seqno", "u32")),
    **{f"i915_gem_request_{stage}": _OLD for stage in ("add", "submit", "out")},
    "i915_gem_request_in": (*_OLD, ("port", "u32")),
    **{f"i915_request_{stage}": _NEW for stage in ("add", "submit")},
    "i915_request_in": (*_NEW, ("prio", "s32"), ("port", "u32")),
    "i915_request_out": (*_NEW, ("completed", "u32")),
}


def _place(ring: int) -> tuple[int, int]:
    # Class and instance of an engine by the number that GVT-g has for it.
    return {3: (2, 1), 4: (3, 0)}.get(ring, (ring, 0))


def thread_names(scenario: Scenario) -> dict[int, str]:
    """Return the names of the threads that the events of a scenario come from."""
    names = {_SERVICE_TID: _SERVICE_COMM, 0: "swapper/0"}
    names |= {1001 + engine: f"workload {engine}" for engine in range(5)}
    names |= {2000 + v * 10: vgpu.name for v, vgpu in enumerate(scenario.vgpus, 1)}
    return names


@dataclass(frozen=True, slots=True)
class GuestClock:
    """The clock of a virtual machine: it showed `zero_ns` when the host's showed 0, and is `drift` too fast."""

    zero_ns: int
    drift: float

    def guest_time(self, t: int) -> int:
        """Return the guest's time of a time of the host."""
        return self.zero_ns + t + round(self.drift * t)


def guest_clock(scenario: Scenario, vgpu: int) -> GuestClock:
    """Return the clock of a virtual machine of a scenario: it began some time ago, and runs up to 50 ppm wrong."""
    chance = random.Random(f"{scenario.seed} {vgpu}")
    return GuestClock(chance.randrange(10 * SECOND, 1000 * SECOND), chance.uniform(-50e-6, 50e-6))


def simulate(scenario: Scenario, *, until_ns: int = 600 * SECOND) -> Simulation:
    """Run a scenario. Raises UsageError where it makes no sense."""
    simulation = Simulation(scenario, until_ns=until_ns)
    simulation.run()
    return simulation
