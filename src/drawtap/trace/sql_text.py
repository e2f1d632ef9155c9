"""Text of SQL: names and texts quoted, comments left out, COPY and INTO taken apart."""

from __future__ import annotations

import re


def quote(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: object) -> str:
    """Return a text or a path as a literal of SQL; of None NULL."""
    return "NULL" if text is None else "'" + str(text).replace("'", "''") + "'"


def without_comments(text: str) -> str:
    """Return SQL with blanks for its comments."""
    return re.sub(r"--[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def without_text(text: str) -> str:
    """Return SQL with blanks for its comments and literals."""
    return re.sub(r"'(?:[^']|'')*'", " ", without_comments(text))


def copy_target(text: str) -> tuple[str, str] | None:
    """Split `COPY (query) TO ...` or `COPY table TO ...` into what is copied and the rest from TO on."""
    match = re.match(r"\s*COPY\s+", without_leading_comments(text), re.IGNORECASE)
    if not match:
        return None
    rest = without_leading_comments(text)[match.end() :]
    if rest.startswith("("):
        depth, quote = 0, ""
        for i, c in enumerate(rest):
            if quote:
                quote = "" if c == quote else quote
            elif c in "'\"":
                quote = c
            elif c == "(":
                depth += 1
            elif c == ")":
                depth -= 1
                if not depth:
                    tail = rest[i + 1 :].strip().rstrip(";")
                    return (rest[1:i], tail) if re.match(r"TO\b", tail, re.IGNORECASE) else None
        return None
    simple = re.match(r'("(?:[^"]|"")+"|\w+)\s+(TO\b.*)', rest, re.IGNORECASE | re.DOTALL)
    return (simple.group(1), simple.group(2).strip().rstrip(";")) if simple else None


_INTO = re.compile(r"\bINTO\s+(?:'((?:[^']|'')+)'|([A-Za-z_][\w.]*))(?=\s+FROM\b)", re.IGNORECASE)


def into(text: str) -> tuple[str, str] | None:
    """Split `SELECT ... INTO name FROM ...` into the name and the query without it; None where there is no INTO."""
    if not re.match(r"\s*SELECT\b", without_leading_comments(text), re.IGNORECASE):
        return None
    match = _INTO.search(text)
    if match is None or text[: match.start()].count("'") % 2:
        return None
    name = (match[1] or "").replace("''", "'") or match[2]
    return name, (text[: match.start()] + text[match.end() :]).strip().rstrip(";")


def without_leading_comments(text: str) -> str:
    """Return SQL from its first word on."""
    return re.sub(r"\A(\s|--[^\n]*\n|/\*.*?\*/)+", "", text, flags=re.DOTALL)
