"""Pixels, fragments and vertices of one recording for the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from drawtap.replay import look
from drawtap.web.answer import Answer, headed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from drawtap.replay.place import Place
    from drawtap.replay.pool import Pool, Served
    from drawtap.trace.trace import Trace


class Looks:
    """Questions to the players that look. Raises what the functions of `drawtap.replay.look` raise.

    `lent` gives a trace with tables for questions, `place` where the picture of a call is taken.
    """

    def __init__(
        self,
        pool: Pool,
        lent: Callable[[], AbstractContextManager[Trace]],
        place: Callable[[int], Place],
    ) -> None:
        self._pool, self._lent, self._place = pool, lent, place
        self._served: Served | None = None

    def _ask(self, first: int, last: int, request: Mapping[str, object]) -> tuple[Any, bytes]:
        answer, self._served = self._pool.look(first, last, request)
        return answer

    def _mesh(self, seq: int) -> look.Mesh:
        at = self._place(seq)
        with self._lent() as trace:
            return look.mesh(trace, at, self._ask)

    def pixel(self, seq: int, of: str, x: int, y: int) -> Answer:
        """Return the history of a pixel of an attachment after a call, from the beginning of the frame on.

        `x` and `y` count from the lower left corner. See `drawtap.replay.look.pixel_history`.
        """
        number = of.removeprefix("color")
        buffer = int(number) if number.isdigit() else 0
        at = self._place(seq)
        with self._lent() as trace:
            history = look.pixel_history(trace, at, x, y, self._ask, buffer=buffer)
        assert self._served is not None
        if self._served.cut:
            look.forget_unplayed(history)
        return {**history, "cut": self._served.cut, "calls": self._served.calls}

    def masks(self, seq: int) -> bytes:
        """Return a draw's fragments by pixel: a JSON head, then a byte a pixel for each name, lowest row first."""
        at = self._place(seq)
        with self._lent() as trace:
            masks = look.masks(trace, at, self._ask)
        head = {"width": masks.width, "height": masks.height, "viewport": masks.viewport, "scissor": masks.scissor}
        sums = {name: int(counts.sum()) for name, counts in masks.counts.items()}
        data = b"".join(np.clip(counts, 0, 255).astype(np.uint8).tobytes() for counts in masks.counts.values())
        return headed({**head, "names": list(masks.counts), "sums": sums, "why": masks.why}, data)

    def overdraw(self, seq: int) -> bytes:
        """Return the fragments of the frame's draws up to a call: a JSON head, then four bytes a pixel."""
        at = self._place(seq)
        with self._lent() as trace:
            counts, said = look.overdraw(trace, at, self._ask)
        head = {
            "width": counts.shape[1],
            "height": counts.shape[0],
            "sum": int(counts.sum()),
            "most": int(counts.max()),
        }
        return headed(
            {**head, "draws": said["draws"], "unknown": said["unknown"], "why": said["why"]}, counts.tobytes()
        )

    def mesh(self, seq: int) -> bytes:
        """Return a draw's vertices: a JSON head that says where each array begins in what follows, and its type."""
        mesh = self._mesh(seq)
        arrays: dict[str, NDArray[Any]] = {f"input{i}": one.values for i, one in enumerate(mesh.inputs)}
        arrays |= {
            name: getattr(mesh, name) for name in ("positions", "areas", "indices", "places", "vertices", "fates")
        }
        head: Answer = {"why": mesh.why, "why_in": mesh.why_in, "mode": mesh.mode, "viewport": mesh.viewport}
        head |= {"corners": mesh.positions.shape[1], "more": mesh.more, "counts": mesh.counts()}
        head |= {"instances": mesh.instances, "base_instance": mesh.base_instance, "given": mesh.given}
        head["inputs"] = [
            {
                "name": one.name,
                "size": one.values.shape[1],
                "constant": one.constant,
                "divisor": one.divisor,
                "why": one.why,
            }
            for one in mesh.inputs
        ]
        places, at = {}, 0
        for name, array in arrays.items():
            places[name] = {"at": at, "type": array.dtype.str, "length": int(array.size)}
            at += array.nbytes + -array.nbytes % 8
        head["arrays"] = places
        return headed(head, b"".join(a.tobytes() + bytes(-a.nbytes % 8) for a in arrays.values()))

    def mesh_file(self, seq: int, kind: str) -> bytes:
        """Return the vertices that go in as CSV, or the primitives that come out as OBJ."""
        mesh = self._mesh(seq)
        return (look.mesh_obj(mesh) if kind == "obj" else look.mesh_csv(mesh)).encode()

    def _pass(self, seq: int) -> tuple[look.PassDraws, list[look.PassDraw]]:
        at = self._place(seq)
        with self._lent() as trace:
            of = look.pass_draws(trace, at)
        if not of.draws:
            return of, []
        call = seq if at.draw is None else at.draw
        last = of.draws[-1][0] if of.submit is None else of.submit
        draws, self._served = self._pool.look_on(of.begin, last, lambda ask: look.pass_mesh(of, call, ask))
        return of, draws

    def whole_pass(self, seq: int) -> bytes:
        """Return what comes out of the draws of a call's pass: a JSON head, positions of corners, fates of primitives.

        A draw of the head has the number of the first of its `primitives` and of its corners.
        """
        of, draws = self._pass(seq)
        rows: list[Answer] = []
        primitive = corner = 0
        for one in draws:
            row: Answer = {"call": one.call, "function": one.function, "why": one.why, "primitives": 0}
            if (mesh := one.mesh) is not None:
                row |= {"primitives": len(mesh.fates), "corners": mesh.positions.shape[1], "more": mesh.more}
                row |= {"vertices": len(mesh.vertices) + mesh.given, "instances": mesh.instances}
                row["viewport"] = mesh.viewport
                row |= {"primitive": primitive, "corner": corner, "each": _of_an_instance(mesh)}
                row["counts"] = mesh.counts()
                primitive += len(mesh.fates)
                corner += len(mesh.fates) * mesh.positions.shape[1]
            rows.append(row)
        head: Answer = {"pass": of.number, "framebuffer": of.framebuffer, "context": of.context, "submit": of.submit}
        head |= {"draws": rows, "left_out": of.left_out, "primitives": primitive, "corners": corner}
        meshes = [one.mesh for one in draws if one.mesh is not None]
        parts = [mesh.positions.tobytes() for mesh in meshes] + [mesh.fates.tobytes() for mesh in meshes]
        return headed(head, b"".join(parts))

    def pass_file(self, seq: int) -> bytes:
        """Return what comes out of the draws of a call's pass as OBJ."""
        return look.pass_obj(*self._pass(seq)).encode()


def _of_an_instance(mesh: look.Mesh) -> int:
    """Return how many primitives an instance has; 0 where which are whose is not known."""
    return len(mesh.places) // mesh.positions.shape[1] if mesh.instances > 1 else len(mesh.fates)
