"""Print the content that a program uploads more than once: `python examples/repeated_uploads.py FILE`."""

from __future__ import annotations

import sys

import drawtap

QUERY = """
    SELECT name, hash, count(*) AS times, max(bytes) AS size, min(frame), max(frame)
    FROM ({tables}) GROUP BY name, hash HAVING count(*) > 1 ORDER BY times * size DESC LIMIT 20
"""
# Functions that take content, and the parameter that it comes in.
UPLOADS = {
    "glBufferData": "data",
    "glBufferSubData": "data",
    "glTexImage2D": "pixels",
    "glTexSubImage2D": "pixels",
    "glShaderSource": "string",
}


def main(path: str) -> int:
    """Print a line for every repeated content; return how many there are."""
    with drawtap.open(path) as trace:
        # Only functions that were called have a table worth reading.
        called = {row["name"] for row in trace.table("histogram")}
        tables = " UNION ALL ".join(
            f"SELECT '{name}' AS name, frame, {data}_blob AS hash, {data}_bytes AS bytes FROM \"{name}\""
            f" WHERE {data}_blob IS NOT NULL"
            for name, data in UPLOADS.items()
            if name in called
        )
        found = trace.sql(QUERY.format(tables=tables)).fetchall() if tables else []
    for name, content, times, size, first, last in found:
        print(f"{name}: {size} bytes ({content[:8]}) {times} times in frames {first} to {last}")
    return len(found)


if __name__ == "__main__":
    main(sys.argv[1])
