"""The needs of a query from its tables: columns, calls, and paths of the state."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from drawtap.trace import query_tree
from drawtap.trace.core import Column

_CATALOG = re.compile(r"^(duckdb_|pragma_|sqlite_|information_schema)", re.IGNORECASE)


@dataclass
class Use:
    """One mention of a table in a query, and what it needs of it."""

    table: str
    alias: str
    node: query_tree.Node | None = None
    of: str = ""  # the schema of another open recording: `b.calls`
    columns: set[str] = field(default_factory=set)  # lower case
    star: bool = False
    first_seq: int = 0
    end_seq: int | None = None
    first_frame: int = 0
    end_frame: int | None = None
    # event.state.X.Y of the table `trace`; True: it is compared with a number
    states: dict[tuple[str, ...], bool] = field(default_factory=dict)
    sensors: set[str] = field(default_factory=set)  # event.sensors.X of the table `trace`
    path: str = (
        ""  # of the table `state`: a pattern of paths, for values that hold after a call of first_seq to end_seq
    )


class Names(Protocol):
    """The facts of a database that reading a query needs: its tables, their columns, and databases beside it."""

    @property
    def others(self) -> Mapping[str, Names]:
        """Recordings that are open beside this one, by the name of their schema."""

    def known(self, name: str) -> str | None:
        """Return the proper name of a table, None where there is none."""

    def is_small(self, table: str) -> bool:
        """Tell whether a table is given to DuckDB as it is, not as calls."""

    def columns(self, table: str) -> Sequence[Column]:
        """Return the columns of a table."""


class Scope:
    """Walks a serialised query: finds tables, the columns they need, and enumerants compared with numbers."""

    def __init__(
        self, names: Names, shadowed: Callable[[str], bool], in_order: Callable[[Use], bool] = lambda use: False
    ) -> None:
        """`in_order` tells whether the rows of a table come in the order of their column `seq`."""
        self._names = names
        self._shadowed = shadowed
        self._in_order = in_order
        self.uses: list[Use] = []
        self.has_ctes = False

    def _of(self, use: Use) -> Names:
        return self._names.others[use.of] if use.of else self._names

    def read(self, tree: query_tree.Node) -> None:
        """Find all that the statements of `tree` use; columns of enumerants are renamed in it."""
        for statement in tree["statements"]:
            self._query(statement["node"], outer=[], ctes=frozenset())

    def _query(self, node: query_tree.Node, *, outer: list[Use], ctes: frozenset[str]) -> None:
        """A SELECT, set operation or CTE node: its own tables are visible to everything inside."""
        ctes = self._with(node, outer=outer, ctes=ctes)
        own: list[Use] = []
        source = node.get("from_table")
        if isinstance(source, dict):
            self._source(source, own, outer=outer, ctes=ctes)
        visible = own + outer
        rest = {key: value for key, value in node.items() if key not in ("from_table", "cte_map")}
        if node.get("type") == "SELECT_NODE":
            if len(own) == 1 and own[0].node is source and not outer and self._in_order(own[0]):
                query_tree.keep_order(node, "seq")
            self._predicates(node.get("where_clause"), own)
            self._expressions(rest, own, visible, ctes)
            return
        for key in ("left", "right", "child", "query", "children"):  # set operations, CTE nodes
            for child in query_tree.as_list(rest.get(key)):
                if isinstance(child, dict) and "type" in child:
                    self._query(child, outer=outer, ctes=ctes)
        self._expressions({"modifiers": rest.get("modifiers")}, own, visible, ctes)

    def _with(self, node: query_tree.Node, *, outer: list[Use], ctes: frozenset[str]) -> frozenset[str]:
        entries = (node.get("cte_map") or {}).get("map") or []
        names = [str(entry["key"]).lower() for entry in entries]
        if node.get("type") in ("CTE_NODE", "RECURSIVE_CTE_NODE") and node.get("cte_name"):
            names.append(str(node["cte_name"]).lower())
        if names:
            self.has_ctes = True
        known = ctes
        for entry in entries:
            known = known | {str(entry["key"]).lower()}  # itself too: it may be recursive
            for inner in query_tree.walk_queries(entry.get("value")):
                self._query(inner, outer=outer, ctes=known)
        return known | frozenset(names)

    def _source(self, source: query_tree.Node, own: list[Use], *, outer: list[Use], ctes: frozenset[str]) -> None:
        kind = source.get("type")
        if kind == "BASE_TABLE":
            self._table(source, own, ctes)
            return
        if kind == "SUBQUERY":
            for inner in query_tree.walk_queries(source.get("subquery")):
                self._query(inner, outer=outer + own, ctes=ctes)
            return
        for key in ("left", "right", "source"):
            child = source.get(key)
            if isinstance(child, dict) and "type" in child:
                self._source(child, own, outer=outer, ctes=ctes)
        if kind == "JOIN":
            for name in source.get("using_columns") or []:
                for use in own:
                    use.columns.add(str(name).lower())
            if str(source.get("ref_type", "")) == "NATURAL":
                for use in own:
                    use.star = True
        rest = {k: v for k, v in source.items() if k not in ("left", "right", "source")}
        self._expressions(rest, own, own + outer, ctes)

    def _table(self, source: query_tree.Node, own: list[Use], ctes: frozenset[str]) -> None:
        name = str(source.get("table_name", ""))
        schema = str(source.get("schema_name") or "")
        of = schema if schema in self._names.others else ""
        if source.get("catalog_name") or _CATALOG.match(name) or (not of and (schema or name.lower() in ctes)):
            return
        table = (self._names.others[of] if of else self._names).known(name)
        if table is None and not schema and name in self._names.others:
            of, table = name, "trace"  # FROM b means FROM b.trace
        if table is None or (not of and self._shadowed(name)):
            return
        if of and schema and not source.get("alias"):
            source["alias"] = f"{schema}.{name}"
        use = Use(table, (str(source.get("alias") or "") or name).lower(), source, of)
        if not source.get("alias"):
            source["alias"] = name
        if source.get("column_name_alias"):
            use.star = True
        own.append(use)
        self.uses.append(use)

    def _expressions(self, part: object, own: list[Use], visible: list[Use], ctes: frozenset[str]) -> None:
        if isinstance(part, list):
            for item in part:
                self._expressions(item, own, visible, ctes)
            return
        if not isinstance(part, dict):
            return
        kind = part.get("class")
        if kind == "STAR":
            relation = str(part.get("relation_name") or "").lower()
            for use in own if not relation else visible:
                if not relation or use.alias == relation:
                    use.star = True
            if part.get("expr"):  # COLUMNS('...') may mean any
                for use in own:
                    use.star = True
                    use.columns |= (
                        set()
                        if (of := self._of(use)).is_small(use.table)
                        else {c.name.lower() for c in of.columns(use.table)}
                    )
        elif kind == "COLUMN_REF":
            self._column(part.get("column_names") or [], visible)
        elif kind in ("COMPARISON", "BETWEEN") or (kind == "OPERATOR" and "IN" in str(part.get("type"))):
            self._enumerants(part, visible)
            _compare_states(part, visible)
        if kind == "SUBQUERY":
            for inner in query_tree.walk_queries(part.get("subquery")):
                self._query(inner, outer=visible, ctes=ctes)
            self._expressions(part.get("child"), own, visible, ctes)
            return
        for key, value in part.items():
            if isinstance(value, dict) and "node" in value and isinstance(value["node"], dict):
                for inner in query_tree.walk_queries(value):
                    self._query(inner, outer=visible, ctes=ctes)
            elif key != "column_names":
                self._expressions(value, own, visible, ctes)

    def _column(self, names: list[str], visible: list[Use]) -> None:
        # `b.calls.seq`, or `calls.seq` where only b.calls is meant: the table was given the name "b.calls".
        qualified = len(names) > 1 and not any(use.alias == names[0].lower() for use in visible)
        if qualified and len(names) > 2 and names[0] in self._names.others:
            names[:2] = [f"{names[0]}.{names[1]}"]
        elif qualified:
            meant = [use for use in visible if use.alias.partition(".")[2] == names[0].lower()]
            if len(meant) == 1:
                names[0] = meant[0].alias
        lower = [n.lower() for n in names]
        for use in visible:
            if use.table == "trace":
                path = names[1:] if lower and lower[0] == use.alias and len(lower) > 1 else names
                if path and path[0].lower() == "event":
                    if len(path) > 1:
                        use.columns.add(path[1].lower())
                    if len(path) > 2 and path[1].lower() == "sensors":
                        use.sensors.add(path[2])
                    state = _state_words(names, use)
                    if state is None:
                        use.star = True
                    else:
                        use.states.setdefault(state, False)
                continue
            if len(lower) > 1 and lower[-2] == use.alias:
                use.columns.add(lower[-1])
            elif len(lower) == 1 and lower[0] == use.alias:  # the row as a struct
                use.star = True
            use.columns.add(lower[0])
            if len(lower) > 1:
                use.columns.add(lower[1])

    # ---- enumerants --------------------------------------------------------------------------------------

    def _enumerants(self, node: query_tree.Node, visible: list[Use]) -> None:
        """`mode = 4`, `4 < mode`, `mode IN (4, 5)`, `mode BETWEEN 1 AND 4`: use the column with the numbers.

        `mode = lag(mode) OVER w`: numbers are equal where names are, and take less time.
        """
        columns, others = query_tree.compared(node)
        if not others or not all(query_tree.is_integer(p) for p in others):
            columns = query_tree.own_neighbours(node)
        for column in columns:
            names = column["column_names"]
            for use in visible:
                of = self._of(use)
                if (
                    of.is_small(use.table)
                    or use.table == "trace"
                    or (len(names) > 1 and names[-2].lower() != use.alias)
                ):
                    continue
                twin = next((c.twin for c in of.columns(use.table) if c.name.lower() == names[-1].lower()), None)
                if twin:
                    names[-1] = twin
                    break

    # ---- conditions on seq and frame ---------------------------------------------------------------------

    def _predicates(self, where: object, own: list[Use]) -> None:
        """Conditions that every row must meet narrow what is decoded. DuckDB still checks them."""
        targets = [use for use in own if not self._of(use).is_small(use.table)]
        states = [use for use in own if use.table == "state"]
        for condition in query_tree.conjuncts(where):
            for use in targets:
                self._narrow(condition, use, alone=len(own) == 1)
            for use in states:
                self._narrow_state(condition, use, alone=len(own) == 1)

    def _narrow_state(self, node: query_tree.Node, use: Use, *, alone: bool) -> None:
        """`path = ...`, `path LIKE 'x%'`, `starts_with(path, ...)`, `path IN (...)`, `begin_seq <= n`, `end_seq > n`,
        `n BETWEEN begin_seq AND end_seq - 1`."""
        kind = str(node.get("type"))
        if node.get("class") == "BETWEEN":
            value = query_tree.integer(node.get("input"))
            if value is not None and kind == "COMPARE_BETWEEN":
                if _column(node.get("lower"), use, alone=alone) == "begin_seq":
                    _limit(use, "seq", 0, value + 1)
                if _column(query_tree.one_less(node.get("upper")), use, alone=alone) == "end_seq":
                    _limit(use, "seq", value, None)
            return
        if node.get("class") in ("FUNCTION", "OPERATOR"):
            pattern = self._path_pattern(node, use, alone=alone)
            if pattern is not None and not use.path:
                use.path = pattern
            return
        if node.get("class") != "COMPARISON":
            return
        left, right = node.get("left"), node.get("right")
        column = _column(left, use, alone=alone)
        if column is None:
            column, right, kind = _column(right, use, alone=alone), left, _MIRRORED.get(kind, kind)
        text, value = query_tree.text_of(right), query_tree.integer(right)
        if column == "path" and kind == "COMPARE_EQUAL" and text is not None and "*" not in text:
            use.path = text
        elif column == "begin_seq" and value is not None and kind in ("COMPARE_LESSTHAN", "COMPARE_LESSTHANOREQUALTO"):
            _limit(use, "seq", 0, value + (kind == "COMPARE_LESSTHANOREQUALTO"))
        elif column == "end_seq" and value is not None and kind.startswith("COMPARE_GREATERTHAN"):
            _limit(use, "seq", value - (kind == "COMPARE_GREATERTHANOREQUALTO"), None)

    def _path_pattern(self, node: query_tree.Node, use: Use, *, alone: bool) -> str | None:
        """Return the pattern for `dt_state_table` that misses no path allowed by a condition."""
        name, parts = str(node.get("function_name")), query_tree.arguments(node)
        if len(parts) < 2 or _column(parts[0], use, alone=alone) != "path":
            return None
        texts = [query_tree.text_of(part) for part in parts[1:]]
        known = [text for text in texts if text is not None]
        if len(known) < len(texts):
            return None
        if name == "~~":
            return known[0].replace("%", "*").replace("_", "?")
        if name in ("starts_with", "prefix", "^@"):
            return known[0] + "*"
        return _common_beginning(known) + "*" if node.get("type") == "COMPARE_IN" else None

    def _narrow(self, node: query_tree.Node, use: Use, *, alone: bool) -> None:
        kind, cls = str(node.get("type")), node.get("class")
        if cls == "BETWEEN":
            if kind != "COMPARE_BETWEEN":
                return
            column = self._bounded(node.get("input"), use, alone=alone)
            low, high = query_tree.integer(node.get("lower")), query_tree.integer(node.get("upper"))
            if column and low is not None and high is not None:
                _limit(use, column, low, high + 1)
            return
        if cls != "COMPARISON":
            return
        column, value = self._bounded(node.get("left"), use, alone=alone), query_tree.integer(node.get("right"))
        if column is None:
            column, value = self._bounded(node.get("right"), use, alone=alone), query_tree.integer(node.get("left"))
            kind = _MIRRORED.get(kind, kind)
        if column is None or value is None:
            return
        if kind == "COMPARE_EQUAL":
            _limit(use, column, value, value + 1)
        elif kind == "COMPARE_LESSTHAN":
            _limit(use, column, 0, value)
        elif kind == "COMPARE_LESSTHANOREQUALTO":
            _limit(use, column, 0, value + 1)
        elif kind == "COMPARE_GREATERTHAN":
            _limit(use, column, value + 1, None)
        elif kind == "COMPARE_GREATERTHANOREQUALTO":
            _limit(use, column, value, None)

    def _bounded(self, node: object, use: Use, *, alone: bool) -> str | None:
        column = _column(node, use, alone=alone)
        if use.table == "trace" and isinstance(node, dict) and node.get("class") == "COLUMN_REF":
            names = [n.lower() for n in node["column_names"]]
            if len(names) == 3 and names[0] == use.alias:
                names = names[1:]
            column = names[1] if len(names) == 2 and names[0] == "event" and alone else None
        return column if column in ("seq", "frame") else None


_MIRRORED = {
    "COMPARE_LESSTHAN": "COMPARE_GREATERTHAN",
    "COMPARE_GREATERTHAN": "COMPARE_LESSTHAN",
    "COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHANOREQUALTO",
    "COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHANOREQUALTO",
}


def _column(node: object, use: Use, *, alone: bool) -> str | None:
    """The name of a column of `use`, lower case."""
    if not isinstance(node, dict) or node.get("class") != "COLUMN_REF":
        return None
    names = [n.lower() for n in node["column_names"]]
    return names[-1] if (len(names) == 1 and alone) or (len(names) == 2 and names[0] == use.alias) else None


def _compare_states(node: query_tree.Node, visible: list[Use]) -> None:
    """`event.state.X > 10`: it is a number there."""
    columns, others = query_tree.compared(node)
    if not others or not all(query_tree.is_number(p) for p in others):
        return
    for column in columns:
        for use in visible:
            words = _state_words(column["column_names"], use)
            if words is not None:
                use.states[words] = True


def _limit(use: Use, column: str, first: int, end: int | None) -> None:
    first = max(first, 0)
    if end is not None:
        end = max(end, 0)
    if column == "seq":
        use.first_seq = max(use.first_seq, first)
        use.end_seq = end if use.end_seq is None else use.end_seq if end is None else min(end, use.end_seq)
    else:
        use.first_frame = max(use.first_frame, first)
        use.end_frame = end if use.end_frame is None else use.end_frame if end is None else min(end, use.end_frame)


def _common_beginning(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:same]


def _state_words(names: Sequence[str], use: Use) -> tuple[str, ...] | None:
    """`X.Y` of `event.state.X.Y`, of the table `trace`."""
    path = names[1:] if len(names) > 1 and names[0].lower() == use.alias else names
    if use.table != "trace" or [n.lower() for n in path[:2]] != ["event", "state"] or len(path) < 3:
        return None
    return tuple(path[2:])
