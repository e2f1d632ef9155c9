"""Make HTML documents that load nothing from anywhere, of the templates, styles and scripts in `assets`."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from pathlib import Path

import jinja2
import markupsafe

import drawtap

_ASSETS = Path(__file__).parent / "assets"


def templates(*, trimmed: bool = False) -> jinja2.Environment:
    """Return the templates of all pages; `trimmed`: lines that hold only a statement leave nothing behind."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_ASSETS),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=trimmed,
        lstrip_blocks=trimmed,
    )
    made.globals["policy"] = _policy()
    return made


@functools.cache
def _policy() -> str:
    """Return the content security policy of all pages: our own scripts run, and nothing is loaded."""
    scripts = (script(path.name) for path in sorted(_ASSETS.glob("*.js")))
    digests = (hashlib.sha256(text.encode()).digest() for text in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    parts = ("default-src 'none'", f"script-src {allowed}", "style-src 'unsafe-inline'", "img-src data:")
    return "; ".join((*parts, "base-uri 'none'", "form-action 'none'"))


def asset(name: str) -> markupsafe.Markup:
    """Return a style, or a script that imports nothing, to be put into a page."""
    return markupsafe.Markup((_ASSETS / name).read_text(encoding="utf-8"))


# The lines of a module of ours about other modules: one line each.
_IMPORT = re.compile(r'import (?:\* as (?P<all>\w+)|(?P<names>\{[^}]*\})) from "\./(?P<of>[\w.]+)";')
_PASSED_ON = re.compile(r'export (?P<names>\{[^}]*\}) from "\./(?P<of>[\w.]+)";')
_EXPORT = re.compile(r"export (?=(?:async )?(?:class|const|function) (\w+))")


@functools.cache
def script(name: str, folder: Path = _ASSETS, begin: str = "") -> markupsafe.Markup:
    """Return a script with all modules that it imports as one script, which a page can carry.

    Modules are looked for in `folder`, then among those that all pages share. `begin` is put at the end: lines that
    see what the script sees.
    """
    parts: dict[str, tuple[str, list[str]]] = {}
    _collect(name, folder, parts)
    *modules, (_, (last, _)) = parts.items()
    wrapped = (
        f"const {_variable(of)} = (() => {{\n{text}return {{ {', '.join(exported)} }};\n}})();\n"
        for of, (text, exported) in modules
    )
    return markupsafe.Markup("".join((*wrapped, last, begin)))


def _collect(name: str, folder: Path, parts: dict[str, tuple[str, list[str]]]) -> None:
    """Add the text of a module and what it exports, behind those that it needs."""
    lines: list[str] = []
    exported: list[str] = []
    path = folder / name if (folder / name).exists() else _ASSETS / name
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        known = _IMPORT.match(line) or _PASSED_ON.match(line)
        if known is not None:
            if known["of"] not in parts:
                _collect(known["of"], folder, parts)
            bound = known.groupdict().get("all") or known["names"]
            exported += re.findall(r"\w+", bound) if line.startswith("export") else []
            lines.append(f"const {bound} = {_variable(known['of'])};\n")
            continue
        match = _EXPORT.match(line)
        exported += [match[1]] if match else []
        lines.append(_EXPORT.sub("", line))
    parts[name] = "".join(lines), exported


def _variable(name: str) -> str:
    return f"module_{name.partition('.')[0]}"


def document(template: str, **values: object) -> str:
    """Return a template filled with `values`, the version of drawtap and the style of all pages."""
    return templates().get_template(template).render(version=drawtap.__version__, css=asset("report.css"), **values)
