"""A parsed query: the tree that DuckDB serialises, its constants and names. Knows the trees of DuckDB 1 and 2."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from drawtap.trace.result import Parameters

Node = dict[str, Any]

_BOUND = "drawtap value"  # of a parameter's node, while the tree is read


@contextlib.contextmanager
def bound(tree: Node, parameters: Parameters) -> Iterator[None]:
    """Give the nodes of parameters (`?`, `$name`) their values: conditions with them narrow what is read too."""
    named: dict[str, object] = (
        dict(parameters)
        if isinstance(parameters, Mapping)
        else {str(number): value for number, value in enumerate(parameters, 1)}
    )
    nodes = [n for n in walk(tree) if n.get("class") == "PARAMETER" and n.get("identifier") in named] if named else []
    for node in nodes:
        node[_BOUND] = named[str(node["identifier"])]
    try:
        yield
    finally:
        for node in nodes:
            del node[_BOUND]


def arguments(node: Node) -> list[object]:
    """Return what a function or operator is given: DuckDB 1 calls them children, DuckDB 2 wraps those of functions."""
    if node.get("children"):
        return as_list(node["children"])
    return [a.get("expression") if isinstance(a, dict) else a for a in as_list(node.get("arguments"))]


def one_less(node: object) -> object:
    """Return `x` of `x - 1`, None for anything else."""
    if isinstance(node, dict) and node.get("class") == "FUNCTION" and node.get("function_name") == "-":
        parts = arguments(node)
        if len(parts) == 2 and integer(parts[1]) == 1:
            return parts[0]
    return None


def text_of(node: object) -> str | None:
    """Return the value of a string constant, None for anything else."""
    if not isinstance(node, dict):
        return None
    if _BOUND in node:
        bound = node[_BOUND]
        return bound if isinstance(bound, str) else None
    if node.get("class") != "CONSTANT":
        return None
    literal = node.get("literal")
    if isinstance(literal, dict):
        return str(literal.get("text", "")) if literal.get("kind") == "STRING" else None
    value = node.get("value")
    if isinstance(value, dict) and (value.get("type") or {}).get("id") == "VARCHAR":
        return None if value.get("is_null") else str(value.get("value"))
    return None


def compared(node: Node) -> tuple[list[Node], list[Node]]:
    """Return the columns that a comparison has, and what else."""
    parts = [p for key in ("left", "right", "input", "lower", "upper") if isinstance(p := node.get(key), dict)]
    parts += [p for p in as_list(node.get("children")) if isinstance(p, dict)]
    columns = [p for p in parts if p.get("class") == "COLUMN_REF"]
    return columns, [p for p in parts if p.get("class") != "COLUMN_REF"]


_EQUALITY = ("COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_DISTINCT_FROM", "COMPARE_NOT_DISTINCT_FROM")


def own_neighbours(node: Node) -> list[Node]:
    """Return both mentions of a column that is compared with its own neighbour, as in `x = lag(x) OVER w`."""
    columns, others = compared(node)
    if node.get("type") not in _EQUALITY or (len(columns), len(others)) != (1, 1):
        return []
    window = others[0]
    inner = arguments(window) if window.get("type") in ("WINDOW_LAG", "WINDOW_LEAD") else []
    if len(inner) != 1 or not isinstance(inner[0], dict) or window.get("default_expr"):
        return []
    both = [columns[0], inner[0]]
    names = [[str(name).lower() for name in column.get("column_names") or ()] for column in both]
    return both if inner[0].get("class") == "COLUMN_REF" and names[0] == names[1] else []


def conjuncts(node: object) -> Iterator[Node]:
    """Yield the conditions that all must hold, of a WHERE clause."""
    if not isinstance(node, dict):
        return
    if node.get("class") == "CONJUNCTION" and node.get("type") == "CONJUNCTION_AND":
        for child in node["children"]:
            yield from conjuncts(child)
    else:
        yield node


def integer(node: object) -> int | None:
    """Return the value of an integer constant, None for anything else.

    DuckDB 2 keeps its text, DuckDB 1 a typed value.
    """
    if not isinstance(node, dict):
        return None
    if node.get("class") == "FUNCTION" and node.get("function_name") == "-" and len(arguments(node)) == 1:
        inner = integer(arguments(node)[0])
        return None if inner is None else -inner
    if _BOUND in node:
        bound = node[_BOUND]
        return bound if isinstance(bound, int) and not isinstance(bound, bool) else None
    if node.get("class") != "CONSTANT":
        return None
    literal = node.get("literal")
    if isinstance(literal, dict):
        text = str(literal.get("text", ""))
        return int(text) if literal.get("kind") == "INTEGER" and re.fullmatch(r"-?\d+", text) else None
    value = node.get("value")
    if isinstance(value, dict) and not value.get("is_null"):
        kind = (value.get("type") or {}).get("id")
        number = value.get("value")
        if kind in (
            "TINYINT",
            "SMALLINT",
            "INTEGER",
            "BIGINT",
            "UTINYINT",
            "USMALLINT",
            "UINTEGER",
            "UBIGINT",
            "INTEGER_LITERAL",
        ) and isinstance(number, int):
            return number
    return None


def is_integer(node: Node) -> bool:
    """Tell whether it is an integer constant."""
    return integer(node) is not None


def is_number(node: Node) -> bool:
    """Tell whether it is a constant that is a number."""
    if isinstance(node.get(_BOUND), float):
        return True
    literal = node.get("literal")
    if isinstance(literal, dict) and literal.get("kind") == "NUMERIC":
        return True
    kind = ((node.get("value") or {}).get("type") or {}).get("id")
    return is_integer(node) or kind in ("DECIMAL", "DOUBLE", "FLOAT")


def as_list(value: object) -> list[object]:
    """Return a list: of nothing an empty one, of a node one with it."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def walk(node: object) -> Iterator[Node]:
    """Yield every node, from the outside in."""
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from walk(value)


def walk_queries(node: object) -> Iterator[Node]:
    """Yield the outermost query nodes below `node`."""
    if isinstance(node, list):
        for item in node:
            yield from walk_queries(item)
    elif isinstance(node, dict):
        if str(node.get("type", "")).endswith("_NODE"):
            yield node
        else:
            for value in node.values():
                yield from walk_queries(value)


def keep_order(select: Node, column: str) -> None:
    """Take `ORDER BY column` from the windows of a SELECT over one table, whose rows come in the order of `column`.

    DuckDB makes lag and lead of one column without an order while rows come, one after the other. It sorts otherwise,
    and may do so where a SELECT has other windows, groups or subqueries: these stay as they are.
    """
    if any(select.get(key) for key in ("group_expressions", "group_sets", "having", "sample")):
        return
    parts = [select.get(key) for key in ("select_list", "where_clause", "qualify", "modifiers")]
    nodes = [node for node in walk(parts) if node.get("class") in ("SUBQUERY", "WINDOW")]
    alias = str(select["from_table"].get("alias") or "").lower()
    if nodes and all(_is_neighbour(node, {(column,), (alias, column)}) for node in nodes):
        for node in nodes:
            node["orders"] = []


def _is_neighbour(node: Node, names: set[tuple[str, ...]]) -> bool:
    """Tell whether a node is lag or lead of one column, ordered by a column of these names, and nothing beside."""
    if node.get("type") not in ("WINDOW_LAG", "WINDOW_LEAD") or node.get("exclude_clause") != "NO_OTHER":
        return False
    beside = ("partitions", "start_expr", "end_expr", "offset_expr", "default_expr", "filter_expr", "arg_orders")
    if any(node.get(key) for key in (*beside, "ignore_nulls", "has_ignore_nulls", "distinct")):
        return False
    orders, of = node.get("orders") or [], arguments(node)
    if len(orders) != 1 or len(of) != 1 or orders[0].get("type") not in ("ORDER_DEFAULT", "ASCENDING"):
        return False
    column, order = of[0], orders[0].get("expression")
    if not isinstance(column, dict) or column.get("class") != "COLUMN_REF" or not isinstance(order, dict):
        return False
    return order.get("class") == "COLUMN_REF" and tuple(str(name).lower() for name in order["column_names"]) in names


def rename(node: Node, name: str, *, catalog: str = "") -> None:
    """Make a node that mentions a table mention another one."""
    node["table_name"] = name
    node["catalog_name"] = catalog
    node["schema_name"] = "main" if catalog else ""
    if "qualified_name" in node:
        node["qualified_name"] = {"path": [catalog, "main", name] if catalog else [name]}


def keep_names(tree: Node, original: Node, name: Callable[[Node], str]) -> None:
    """Give each result column that was rewritten, and has no alias, the name that DuckDB gives the original.

    `name` returns the name of an expression. The names are the headings of the answer, and outer SELECTs use them.
    """
    for select, before in _pairs(tree, original):
        if select.get("type") != "SELECT_NODE":
            continue
        for item, was in zip(as_list(select.get("select_list")), as_list(before.get("select_list")), strict=True):
            if not isinstance(item, dict) or not isinstance(was, dict) or item.get("alias") or item == was:
                continue
            expands = any(node.get("class") == "STAR" and node.get("columns") for node in walk(was))
            if item.get("class") not in ("COLUMN_REF", "STAR") and not expands:
                item["alias"] = name(was)


def _pairs(node: object, before: object) -> Iterator[tuple[Node, Node]]:
    """Yield the nodes of two trees that are at the same place in both, from the inside out."""
    if isinstance(node, dict) and isinstance(before, dict):
        for key in node.keys() & before.keys():
            yield from _pairs(node[key], before[key])
        yield node, before
    elif isinstance(node, list) and isinstance(before, list) and len(node) == len(before):
        for inner, was in zip(node, before, strict=True):
            yield from _pairs(inner, was)
