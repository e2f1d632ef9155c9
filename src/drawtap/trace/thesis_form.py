"""The table `trace` of Kyostila's thesis: one row `event` a call, with the state and the sensors of that call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drawtap.trace.sql_text import quote

#: `event.state.path.X`: the first word is an argument of the call that names an object; collection below a share group.
NAMED = {
    **{name: f"shares[*].{name}s" for name in ("buffer", "program", "renderbuffer", "sampler", "shader", "texture")},
    **{name: f"vg_shares[*].{name}s" for name in ("font", "image", "paint", "path")},
    "maskLayer": "vg_shares[*].mask_layers",
}
_SHORT = {("path", "segment_count"): "VG_PATH_NUM_SEGMENTS", ("path", "coordinate_count"): "VG_PATH_NUM_COORDS"}
#: Names of the thesis form, and the columns of `calls` that they mean.
EVENT = {"time": "t_start", "values": "params"}


def _state_join(table: str, index: int, words: Sequence[str]) -> str:
    """Join what a variable of the call's context, or of an object that it names, was (docs/state-paths.md).

    `words` are its path below the context; of an object the argument with its name, and the path below the object.
    """
    named = NAMED.get(words[0]) if len(words) > 1 else None
    if named is not None:
        below = ".".join([_SHORT.get((words[0], words[1]), words[1]), *words[2:]]).replace("'", "''")
        before, after = named.split("*")
        number = f"json_extract_string(c.params, '$.{words[0]}')"
        path = f"'{before}' || k.share_group || '{after}[' || {number} || '].{below}'"
    else:
        below = ".".join(words[1:] if words[0] == "context" else words).replace("'", "''")
        path = f"'contexts[' || c.context || '].{below}'"
    # OpenVG's contexts are numbered together with the others.
    own = f"SELECT path, begin_seq, end_seq, json_extract_string(value, '$') AS value FROM {quote(table)}"
    if named is None:
        own = own.replace("SELECT path", "SELECT regexp_replace(path, '^vg_', '') AS path")
    return (
        f" ASOF LEFT JOIN ({own} WHERE ends_with(path, '.{below}')) AS v{index}"
        f" ON v{index}.path = {path} AND c.seq >= v{index}.begin_seq"
    )


def _state_values(states: Mapping[tuple[str, ...], bool]) -> dict[tuple[str, ...], str]:
    """Return SQL for what each variable was; a number where it is compared with one, else text."""
    values = {}
    for index, (words, number) in enumerate(states.items()):
        value = f"TRY_CAST(v{index}.value AS DOUBLE)" if number else f"v{index}.value"
        values[words] = f"CASE WHEN c.seq < coalesce(v{index}.end_seq, c.seq + 1) THEN {value} END"
    return values


def _state_struct(values: Mapping[tuple[str, ...], str]) -> str:
    """Return SQL for a struct with the values, each under its words."""
    fields: dict[str, str] = {}
    inner: dict[str, dict[tuple[str, ...], str]] = {}
    for words, value in values.items():
        if len(words) == 1:
            fields[words[0]] = value
        else:
            inner.setdefault(words[0], {})[words[1:]] = value
    for name, below in inner.items():
        fields[name] = _state_struct(below)
    return f"struct_pack({', '.join(f'{quote(name)} := {value}' for name, value in fields.items())})"


def view(
    name: str,
    columns: Sequence[str],
    states: Mapping[tuple[str, ...], bool],
    *,
    readings: tuple[str, str] | None = None,
    state_table: str = "",
    context_table: str = "",
) -> str:
    """Return a query whose rows are `event`: calls of the table `name` with these columns.

    `states` are the variables asked for (True: as a number), joined from `state_table`; `context_table` knows their
    share groups. `readings`: a table, and a query with `{}` for it whose rows have `seq` and the sensors.
    """
    pairs = [f"{quote(c)} := c.{quote(c)}" for c in columns]
    pairs += [f"{quote(alias)} := c.{quote(column)}" for alias, column in EVENT.items() if column in columns]
    source = f"{quote(name)} AS c"
    if readings is not None:
        pairs.append("sensors := s")
        source += f" LEFT JOIN ({readings[1].format(quote(readings[0]))}) AS s ON s.seq = c.seq"
    if states:
        if context_table:
            source += f" LEFT JOIN {quote(context_table)} AS k ON k.context = c.context"
        for index, words in enumerate(states):
            source += _state_join(state_table, index, words)
        pairs.append(f"state := {_state_struct(_state_values(states))}")
    return f"SELECT struct_pack({', '.join(pairs)}) AS event FROM {source}"
