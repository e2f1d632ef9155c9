"""The static lock: while somebody more important draws, everybody else is held to one rate."""

from dataclasses import dataclass

from drawtap.live.policy import Decision, Snapshot, policy
from drawtap.live.program import Importance, Limit


@policy("static")
@dataclass(frozen=True)
class Static:
    """Hold everybody below the highest class to `fps` while a program of class high or above draws.

    The lock of Tsuboi et al. (GLACI, Figure 11), who use 60. It needs no figures of the programs. It gives capacity
    away where there is plenty, and it does not help where there is too little: `adaptive` looks at what the lock
    achieves.
    """

    fps: float = 60.0

    def decide(self, seen: Snapshot, memory: object) -> Decision:
        """Lock by class alone."""
        important = [p for p in seen.drawing() if p.importance.rank <= Importance.HIGH.rank]
        if not important:
            return Decision()
        first = min(important, key=lambda p: (p.importance.rank, p.id))
        reason = f"{first.name} ({first.importance}) draws: all below are locked to {self.fps:g} FPS"
        return Decision(
            {p.id: Limit(self.fps, reason) for p in seen.programs if p.importance.rank > first.importance.rank}
        )
