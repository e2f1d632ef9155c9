"""Size rules computed in Python: what tests hold the generated C++ against."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from drawtap.spec.expr import parse
from drawtap.spec.model import Api


def evaluate(
    text: str,
    values: Mapping[str, int],
    api: Api,
    functions: Mapping[str, Callable[..., int]] | None = None,
) -> int:
    """Compute a rule in Python. `values` gives parameters (for pointers: what deref yields), `functions` the rest."""
    own: dict[str, Callable[..., int]] = {"min": min, "max": max, "deref": lambda p: p, **(functions or {})}
    return _Value(values, own, api).of(parse(text))


@dataclass(frozen=True, slots=True)
class _Value:
    values: Mapping[str, int]
    functions: Mapping[str, Callable[..., int]]
    api: Api

    def of(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(value)):
                return value
            case ast.Name(id=name):
                return self.values[name] if name in self.values else self.api.enums[name]
            case ast.BinOp(left=left, op=op, right=right):
                return _arithmetic(op, self.of(left), self.of(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.of(operand)
            case ast.UnaryOp(operand=operand):
                return int(not self.of(operand))
            case ast.BoolOp(op=op, values=values):
                each: Iterable[bool] = (bool(self.of(v)) for v in values)
                return int(all(each) if isinstance(op, ast.And) else any(each))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return _compare(op, self.of(left), self.of(right))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.of(body) if self.of(test) else self.of(orelse)
            case ast.Call(func=ast.Name(id=name), args=args):
                given = [self.of(arg) for arg in args]
                return self._table(name, given[0]) if name in self.api.tables else self.functions[name](*given)
        raise AssertionError(ast.dump(node))

    def _table(self, name: str, value: int) -> int:
        rows = self.api.tables[name]
        entry = next((e for key, e in rows.items() if self.api.enums.get(key) == value), rows.get("default", 0))
        return self.of(parse(entry)) if isinstance(entry, str) else entry


def _arithmetic(op: ast.operator, left: int, right: int) -> int:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv():
            return int(left / right) if left < 0 else left // right  # as C++ does
        case ast.Mod():
            return left - right * _arithmetic(ast.FloorDiv(), left, right)
        case ast.LShift():
            return left << right
        case ast.RShift():
            return left >> right
        case ast.BitAnd():
            return left & right
        case _:
            return left | right


def _compare(op: ast.cmpop, left: int, right: int) -> int:
    match op:
        case ast.Eq():
            return int(left == right)
        case ast.NotEq():
            return int(left != right)
        case ast.Lt():
            return int(left < right)
        case ast.LtE():
            return int(left <= right)
        case ast.Gt():
            return int(left > right)
        case _:
            return int(left >= right)
