"""Adaptive control: hold others back just enough that targets are reached, by frame-time percentiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from drawtap.live.policy import Decision, Snapshot, policy
from drawtap.live.program import Importance, Limit, Program, percentiles

# Logarithms of rates, all of them: 0.01 is about 1 %.
_SURE = 0.08  # an error this far beyond the missed target is no accident
_SAME = 0.01  # rates closer than this are equal
_EVEN = 0.02  # frame times are even if nine in ten are closer than this
_GAIN = 0.02  # the least gain for a target that is worth a limit
_HELD = 0.006  # tolerance for a program under a limit: a clock keeps its rate, so a small error means something
# Others went down by this much, and the target is still missed: it is out of their reach.
_BAD = 0.9
_AGAIN = 0.25  # if an earlier try found it out of reach already
_FINE = 0.22  # if the program reaches its target, but not the aim above it
_STEP = math.log(3)  # the largest step down
_RISE = 0.3  # the largest step up


@dataclass(frozen=True)
class _Try:
    """The state before the others went down for program `id`, by `depth` so far, without a gain yet."""

    id: int
    limits: Mapping[int, float]
    error: float
    fps: float
    depth: float = 0.0


@dataclass(frozen=True)
class _Held:
    """A program that tries showed to stay `error` off its aim, whatever others do."""

    error: float
    best: float  # where others were down
    goal_fps: float
    until_ns: int  # then it is tried again
    wait_s: float


@dataclass(frozen=True)
class _Memory:
    limits: Mapping[int, float] = field(default_factory=dict)  # FPS by id; those that are not in it are free
    changed_ns: int = 0
    missed_ns: int = 0  # since when an aim is missed, 0: none is
    calm_ns: int = 0  # since when all are reached without room to spare
    roomy_ns: int = 0  # since when there is room to spare
    probe_s: float = 0.0  # how long a calm must last before a little more is tried
    good: Mapping[int, float] = field(default_factory=dict)  # the limits before the last rise
    rise: float = 0.0  # the last rise in a calm
    known: frozenset[int] = frozenset()  # the others so far
    down: _Try | None = None
    held: Mapping[int, _Held] = field(default_factory=dict)
    slope: float = 0.0  # by how much a frame a second of the others lowers the share of the aim that is reached
    point: tuple[float, float] = (0.0, 0.0)  # frames a second of the others and that share before the last change


@policy("adaptive")
@dataclass(frozen=True)
class Adaptive:
    """Lower everybody below a program that misses its target, and give back what turns out not to be needed.

    The controlled figure is the worse of two. One is a program's rate over `window_s`, against `aim` times its target.
    The other is the `percentile` of its frame times over twice that time, against `tolerance` frame times of the
    target; time that a limit made it wait does not count. If it is missed by more than `missed`, programs of lower
    classes go down, the most important program first. They go as far as its target needs by the last steps (at first as
    if all had equal shares; to a third at most), but only after the window shows what the last step did, and for a
    small error only if it lasts. A limit without effect is reverted. A program at its target by itself (vertical
    retrace, a clock of its own), or out of reach of it, keeps its rate, and the rest goes to the others. The next try
    comes after `held_s`, then after twice that, by a step that costs the others a fifth.

    Above `aim` by more than `room` for two windows (one, where it is much) they rise, by half of what there is. In
    between nothing moves, except that after `probe_s` of calm `probe` more is tried, twice as much where it cost
    nothing. A step that costs the target is reverted exactly, and the next try comes after twice the time. So it
    settles, and swings ever less.
    """

    percentile: float = 90.0
    tolerance: float = 1.3
    aim: float = 1.04
    window_s: float = 1.0
    missed: float = 0.02
    room: float = 0.08
    probe: float = 0.04
    probe_s: float = 4.0
    longest_probe_s: float = 120.0
    held_s: float = 8.0
    floor_fps: float = 5.0

    def decide(self, seen: Snapshot, memory: object) -> Decision:
        """Move the others' common factor by the error of the most important program that misses its aim."""
        before = memory if isinstance(memory, _Memory) else _Memory()
        drawing = seen.drawing()
        wanting = [p for p in drawing if p.target_fps and p.importance.rank <= Importance.NORMAL.rank]
        wanting.sort(key=lambda p: p.importance.rank)
        others = _below(drawing, wanting[0]) if wanting else []
        if not others:
            return Decision()
        state = replace(before, limits=_carried(others, before.limits), probe_s=before.probe_s or self.probe_s)
        if new := {p.id for p in others} - state.known:
            # The lessons so far were about other programs; these programs have to show first how they behave.
            known = (state.known | new) & {p.id for p in seen.programs}
            state = replace(state, known=known, down=None, good={}, slope=0.0, changed_ns=seen.now_ns)
        # Whom this policy holds back itself is not slowed by others.
        waiting = [p for p in wanting if state.limits.get(p.id, math.inf) < (p.goal_fps or 0.0)]
        lowest = max(p.importance.rank for p in others)
        free = [p for p in wanting if p not in waiting and p.importance.rank < lowest]
        errors = {p.id: error for p in free if (error := self._error(seen, p, state)) is not None}
        state = replace(state, held=_still_held(free, errors, state.held))
        lacking = [p for p in free if p.id in errors and self._is_lacking(seen, state, p, errors[p.id])]
        worst = max(free, key=lambda p: errors.get(p.id, -math.inf))
        if lacking:
            worst = next((p for p in lacking if self._can_go_down(state, _below(others, p))), lacking[0])
            state = self._lowered(seen, worst, _below(others, worst), errors[worst.id], state)
        elif (down := state.down) and down.id in errors and down.error - errors[down.id] < _SAME:
            # Content all the same: its frames only became even.
            worst = next(p for p in free if p.id == down.id)
            state = self._taken_back(seen, worst, errors[down.id], down, state)
        elif errors:
            state = replace(state, missed_ns=0, down=None)
            first = min((p.importance.rank for p in waiting), default=len(Importance))
            state = self._raised(seen, errors[worst.id], [p for p in others if p.importance.rank <= first], state)
        return self._limits(seen, worst, others, state)

    def _error(self, seen: Snapshot, program: Program, state: _Memory) -> float | None:
        """Return log of how far the aim is missed: 0 reached exactly, negative with room to spare."""
        surface, goal = program.surface, program.goal_fps
        if surface is None or not goal:
            return None
        window = round(self.window_s * 1e9)
        if not len(surface.shown_ns) or int(surface.shown_ns[0]) > seen.now_ns - window:
            return None  # a program that begins is slow by nature
        fps = max(surface.fps(seen.now_ns, window), 0.1)
        recent = surface.since(max(seen.now_ns - 2 * window, min(state.changed_ns, seen.now_ns - window)))
        if not len(recent.frame_ns):
            return math.log(goal * self.aim / fps)
        # A frame that a limit of ours held back would have come sooner: that is not what others cost.
        work = recent.work_ns
        held = float(recent.frame_ns.sum()) / max(float(work.sum()), 1.0)
        missed = fps < goal * math.exp(-_HELD) and not (program.held and program.held.fps < goal)
        by_rate = math.log(goal * self.aim / (fps if missed else fps * held))
        by_time = math.log(max(percentiles(work, self.percentile)[0], 1.0) * goal / 1e9 / self.tolerance)
        return max(by_rate, by_time)

    def _is_lacking(self, seen: Snapshot, state: _Memory, program: Program, error: float) -> bool:
        if program.id not in state.held:  # most are far from where it matters how even their frames are
            bounds = (self.missed, self._at_target())
            if error <= min(bounds) or error > max(bounds):
                return error > min(bounds)
        return error > self._allowed(seen, state, program)

    def _at_target(self) -> float:
        """Return the error of a program that shows its target and no more."""
        return math.log(self.aim) + _HELD

    def _allowed(self, seen: Snapshot, state: _Memory, program: Program) -> float:
        """Return the error up to which a program is content."""
        held = state.held.get(program.id)
        if held and seen.now_ns < held.until_ns:
            return held.error + _SAME
        # So even are frames that a clock tells to come: at its target a program has no use for more time.
        surface = program.surface
        times = surface.since(seen.now_ns - round(self.window_s * 1e9)).frame_ns if surface else None
        if times is None or not len(times):
            return self.missed
        first, middle, last = percentiles(times, 10, 50, 90)
        return self._at_target() if last - first < _EVEN * middle else self.missed

    def _can_go_down(self, state: _Memory, below: Sequence[Program]) -> bool:
        return any(state.limits.get(p.id, math.inf) > self._least(p) for p in below)

    def _least(self, program: Program) -> float:
        return max(self.floor_fps, program.floor_fps)

    def _lowered(self, seen: Snapshot, worst: Program, below: list[Program], error: float, state: _Memory) -> _Memory:
        """Let those below a program go down, or take back what did not help it."""
        now, window = seen.now_ns, round(self.window_s * 1e9)
        since = state.missed_ns or now
        state = replace(state, missed_ns=since, roomy_ns=0, calm_ns=0)
        # A large error is no accident; a small one has to last.
        sure = error >= self._allowed(seen, state, worst) + _SURE or now - since >= window
        if now - state.changed_ns < window or not sure:
            return state
        if state.good and math.log(state.point[1]) + error > _HELD / 2:
            longer = min(state.probe_s * 2, self.longest_probe_s)
            return replace(_changed(now, state, state.good), good={}, probe_s=longer, rise=0.0)
        shown, reached = sum(p.fps(now, window) for p in below), math.exp(-error)
        state = self._learnt(state, shown, reached, len(below))
        down = state.down
        bad = error > self._at_target()
        # A program that misses no more than when it was found to be held would gain little, even if it were free by
        # now.
        known = state.held.get(worst.id)
        again = known is not None and error <= known.error + _SURE
        deep, least = (_AGAIN if again else _BAD, _GAIN) if bad else (_FINE, _SAME)
        fps = max(worst.fps(now, min(now - state.changed_ns, 2 * window)), 0.1)
        if down is None or down.id != worst.id or max(down.error - error, math.log(fps / down.fps)) >= least:
            down = _Try(worst.id, state.limits, error, fps)
        can = self._can_go_down(state, below)
        if down.depth > 0.9 * deep or (not can and down.depth > _FINE):
            # To give a target up takes a second look: it may have been noise that hid what was gained.
            early = bad and now - state.changed_ns < 2 * window
            return replace(state, down=down) if early else self._taken_back(seen, worst, error, down, state)
        if not can:
            return replace(state, down=down)
        wanted = 1 - max((1 - reached) / state.slope / max(shown, 1e-3), 0.02)  # what remains for them
        # A step that brought nothing was too small, or in vain: thrice the step shows which, and more is not needed.
        step = max(-math.log(max(wanted, 1e-3)), 3 * down.depth)
        step = min(step, deep - down.depth if down.depth or again or not bad else _STEP)
        lower = {p.id: max(self._shown(seen, p, state.limits) * math.exp(-step), self._least(p)) for p in below}
        state = _changed(now, state, {**state.limits, **lower})
        return replace(state, good={}, rise=0.0, down=replace(down, depth=down.depth + step))

    def _taken_back(self, seen: Snapshot, worst: Program, error: float, down: _Try, state: _Memory) -> _Memory:
        before = state.held.get(worst.id)
        wait = min(before.wait_s * 2, self.longest_probe_s) if before else self.held_s
        errors = sorted((error, down.error))
        held = _Held(errors[1], errors[0], worst.goal_fps or 0.0, seen.now_ns + round(wait * 1e9), wait)
        state = replace(state, down=None, held={**state.held, worst.id: held}, slope=0.0)
        return replace(_changed(seen.now_ns, state, down.limits), good={}, rise=0.0)

    def _raised(self, seen: Snapshot, error: float, others: list[Program], state: _Memory) -> _Memory:
        """Give back what is not needed, and try whether a little more is not needed either."""
        rising = [p for p in others if p.id in state.limits]
        if not rising:
            return state
        now, window = seen.now_ns, round(self.window_s * 1e9)
        settled = now - state.changed_ns >= window
        roomy = error < -self.room
        since = (state.roomy_ns if roomy else state.calm_ns) or now
        # Much room is given back fast.
        wait = (1 if error < -3 * self.room else 2) * window if roomy else round(state.probe_s * 1e9)
        if now - since < wait or not settled:
            return replace(state, roomy_ns=since if roomy else 0, calm_ns=0 if roomy else since)
        if all(p.fps(now, window) < 0.7 * state.limits[p.id] for p in rising):
            rest = {key: fps for key, fps in state.limits.items() if key not in {p.id for p in rising}}
            return replace(_changed(now, state, rest), good={})  # limits far above what is shown are none
        shown, reached = sum(p.fps(now, window) for p in rising), math.exp(-error)
        cheap = bool(state.good) and math.log(state.point[1] / reached) < _SAME
        state = self._learnt(state, shown, reached, len(rising))
        # Where twice the target is shown, a step that is too large can be taken back before it hurts.
        most = max(_RISE, -error / 2 if error < -math.log(2) else 0.0)
        if roomy:
            rise = min(max(math.log1p((reached - 1) / state.slope / max(shown, 1e-3)), -error) / 2, most)
        else:
            # Calm for so long: what was tried last holds, and a little more is tried.
            rise = min(max(2 * state.rise, self.probe), _RISE) if cheap else self.probe
        limits = {**state.limits, **{p.id: state.limits[p.id] * math.exp(rise) for p in rising}}
        return replace(_changed(now, state, limits), good=state.limits, rise=0.0 if roomy else rise)

    def _learnt(self, state: _Memory, shown: float, reached: float, number: int) -> _Memory:
        """Return what the last change says of the next: frames of others cost a program frames, in proportion.

        Small changes say little, for what else moves the rates. At first all are taken to have equal shares.
        """
        slope = state.slope or number * reached / max(shown, 1e-3)
        fewer, more = state.point[0] - shown, reached - state.point[1]
        if state.point[0] and state.slope:
            doubt = (0.25 * state.point[0]) ** 2
            measured = (slope * doubt + fewer * more) / (doubt + fewer**2)
            slope = min(max(measured, slope / 2), slope * 2)
        return replace(state, slope=slope, point=(shown, reached))

    def _shown(self, seen: Snapshot, program: Program, limits: Mapping[int, float]) -> float:
        return min(limits.get(program.id, math.inf), max(program.fps(seen.now_ns, 250_000_000), self.floor_fps))

    def _limits(self, seen: Snapshot, worst: Program, others: list[Program], now: _Memory) -> Decision:
        fps, target = worst.fps(seen.now_ns), worst.goal_fps or 0.0
        reason = f"{worst.name} shows {fps:.0f} of {target:g} FPS"
        if fps > 1.5 * target:
            reason += ", this rises again"
        elif worst.id in now.held and now.held[worst.id].until_ns > seen.now_ns:
            reason += ", and no more than that were this lower"
        limits = {p.id: Limit(max(now.limits[p.id], self._least(p)), reason) for p in others if p.id in now.limits}
        return Decision(limits, now)


def _changed(now_ns: int, state: _Memory, limits: Mapping[int, float]) -> _Memory:
    return replace(state, limits=limits, changed_ns=now_ns, missed_ns=0, calm_ns=now_ns, roomy_ns=0)


def _below(programs: Sequence[Program], program: Program) -> list[Program]:
    return [p for p in programs if p.importance.rank > program.importance.rank]


def _carried(others: Sequence[Program], limits: Mapping[int, float]) -> dict[int, float]:
    """Return the limits of those that still draw; a new program gets no more than the others of its class or above."""
    kept = {p.id: limits[p.id] for p in others if p.id in limits}
    for p in others:
        peers = [kept[q.id] for q in others if q.id in limits and q.importance.rank <= p.importance.rank]
        if p.id not in limits and peers:
            kept[p.id] = max(peers)
    return kept


def _still_held(wanting: Sequence[Program], errors: Mapping[int, float], held: Mapping[int, _Held]) -> dict[int, _Held]:
    """Leave out programs that are gone, have another target, or show more than they were thought to be held to."""
    known = {p.id: p for p in wanting if p.id in held and held[p.id].goal_fps == p.goal_fps}
    return {key: held[key] for key in known if errors.get(key, math.inf) > held[key].best - 2 * _SAME}
