"""State over time: values of hierarchical paths over intervals, ordered by their ends.

The order is what makes questions fast: DuckDB keeps the smallest and the largest end of every block of rows, so that
`begin_ns <= T AND T < end_ns` reads the few blocks that can hold T. Paths are an enumeration: four bytes a row.

Paths (the tree of Belkhiri & Dagenais 2024, with the names that the kernel gives in place of five fixed engines, and
with counts where theirs has flags):

    gpus/DEVICE/engines/ENGINE/running    how many requests are on it
    gpus/DEVICE/engines/ENGINE/waiting    how many requests wait for it
    gpus/DEVICE/engines/ENGINE/client     whose request is on it, while it is one
    vgpus/N/waiting, vgpus/N/current      waiting in the hypervisor; whether it has the GPU
    threads/TID/state                     running, preempted, waking, blocked
    threads/TID/cpu, cpus/N/thread        where it runs, who runs there
    vcpus/TID/guest                       whether the vCPU is in its guest
"""

from __future__ import annotations

import duckdb

# Every SELECT gives path, begin, end, value. Counters hold until their next row.
_PARTS = (
    """
    SELECT 'gpus/' || parse_dirname(track, 'forward_slash') || '/engines/' || parse_filename(track, false,
      'forward_slash')
           || '/client' AS path, begin_ns, end_ns, regexp_replace(name, ' #[0-9]+$', '') AS value
    FROM spans WHERE kind = 'execution' AND end_ns > begin_ns
    """,
    """
    SELECT 'threads/' || tid || '/state', begin_ns, end_ns, kind FROM spans
    WHERE track LIKE 'thread/%' AND kind IN ('running', 'preempted', 'waking', 'blocked')
    """,
    "SELECT 'threads/' || tid || '/cpu', begin_ns, end_ns, cpu::VARCHAR FROM spans "
    "WHERE track LIKE 'thread/%' AND kind = 'running'",
    "SELECT 'cpus/' || cpu || '/thread', begin_ns, end_ns, tid::VARCHAR FROM spans "
    "WHERE kind = 'running' AND cpu IS NOT NULL",
    "SELECT 'vcpus/' || tid || '/guest', begin_ns, end_ns, 'true' FROM spans WHERE kind = 'guest'",
    "SELECT 'vgpus/' || vgpu || '/current', begin_ns, end_ns, 'true' FROM spans WHERE kind = 'current'",
)

_COUNTED = """
    WITH changes AS (
      SELECT track, begin_ns AS t, 1 AS d FROM spans WHERE kind = 'execution' AND end_ns > begin_ns
      UNION ALL SELECT track, end_ns, -1 FROM spans WHERE kind = 'execution' AND end_ns > begin_ns
    ), sums AS (SELECT track, t, sum(d) AS d FROM changes GROUP BY track, t),
    levels AS (
      SELECT 'gpus/' || regexp_replace(track, '/([^/]+)$', '/engines/\\1/running') AS path, t,
             sum(d) OVER (PARTITION BY track ORDER BY t) AS value
      FROM sums
      UNION ALL
      SELECT CASE WHEN track LIKE 'vgpu/%' THEN regexp_replace(track, '^vgpu/([0-9]+)/.*$', 'vgpus/\\1/waiting')
                  ELSE 'gpus/' || regexp_replace(track, '/([^/]+)/queue length$', '/engines/\\1/waiting') END,
             t_ns, value
      FROM counters WHERE track LIKE '%/queue length'
    )
    SELECT path, t AS begin_ns, coalesce(lead(t) OVER (PARTITION BY path ORDER BY t),
           greatest(t, (SELECT end_ns FROM trace_window))) AS end_ns, value::BIGINT::VARCHAR AS value
    FROM levels
"""


def build(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the table `state` from `spans` and `counters`. Open spans end at the end of the trace."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE state_counted AS {_COUNTED}")
    # Not put into a table: as text the paths of millions of rows are more than the rest of the model.
    union = " UNION ALL ".join(f"({part})" for part in (*_PARTS, "SELECT * FROM state_counted"))
    make(connection, f"SELECT path, begin_ns, end_ns, value FROM ({union}) WHERE end_ns > begin_ns")
    connection.execute("DROP VIEW state_source")
    connection.execute("DROP TABLE state_counted")


def make(connection: duckdb.DuckDBPyConnection, rows: str) -> None:
    """Make the table `state` of a SELECT that gives path, begin, end and value."""
    connection.execute(f"CREATE OR REPLACE TEMP VIEW state_source AS SELECT * FROM ({rows}) AS t(path, b, e, value)")
    connection.execute("DROP TABLE IF EXISTS state")
    connection.execute("DROP TYPE IF EXISTS state_path")
    connection.execute("DROP TYPE IF EXISTS state_value")
    connection.execute("CREATE TYPE state_path AS ENUM (SELECT DISTINCT path FROM state_source ORDER BY path)")
    connection.execute("CREATE TYPE state_value AS ENUM (SELECT DISTINCT value FROM state_source ORDER BY value)")
    connection.execute(
        "CREATE TABLE state AS SELECT path::state_path AS path, b AS begin_ns, e AS end_ns, "
        "value::state_value AS value "
        "FROM state_source ORDER BY e"
    )
