"""Limits of the users' connections to one manager: no user gets all of them.

The manager's own user and root are served while there is any room. All others together leave a reserve for them, one
alone has at most half of the rest, and each may come back only so often.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass

_AT_ONCE, _PER_SECOND = 100.0, 50.0  # connections that a user may make in a burst, and in the long run
_MOST_USERS = 4096  # that are remembered


@dataclass
class _Bucket:
    left: float
    since: float


class Shares:
    """Decide who may connect."""

    def __init__(self) -> None:
        self._buckets: dict[int, _Bucket] = {}

    def comes_too_often(self, uid: int) -> bool:
        """Tell whether a user connects again and again, faster than anybody needs to. Counts this connection."""
        if is_first(uid):
            return False
        now = time.monotonic()
        if len(self._buckets) > _MOST_USERS:
            self._buckets.clear()
        bucket = self._buckets.setdefault(uid, _Bucket(_AT_ONCE, now))
        bucket.left = min(_AT_ONCE, bucket.left + (now - bucket.since) * _PER_SECOND)
        bucket.since = now
        if bucket.left < 1:
            return True
        bucket.left -= 1
        return False

    @staticmethod
    def has_room(uid: int, held: Mapping[int, int], most: int) -> bool:
        """Tell whether a user may have one more of `most` connections; `held` says how many each user has."""
        if sum(held.values()) >= most:
            return False
        if is_first(uid):
            return True
        rest = ordinary(most)
        others = sum(count for user, count in held.items() if not is_first(user))
        return others < rest and held.get(uid, 0) < max(1, rest // 2)


def ordinary(most: int) -> int:
    """Return how many of `most` connections all users but root and the manager's own may have together."""
    return max(1, most - max(2, most // 8))


def is_first(uid: int) -> bool:
    """Tell whether a user goes before others here: root, and the manager's own."""
    return uid in (0, os.geteuid())
