"""Make HTML documents that load nothing from anywhere, of the templates, styles and scripts in `assets`."""

from __future__ import annotations

import base64
import functools
import hashlib
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
    scripts = sorted(_ASSETS.glob("*.js"))
    digests = (hashlib.sha256(script.read_bytes()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    parts = ("default-src 'none'", f"script-src {allowed}", "style-src 'unsafe-inline'", "img-src data:")
    return "; ".join((*parts, "base-uri 'none'", "form-action 'none'"))


def asset(name: str) -> markupsafe.Markup:
    """Return a style or a script, to be put into a page."""
    return markupsafe.Markup((_ASSETS / name).read_text(encoding="utf-8"))


def document(template: str, **values: object) -> str:
    """Return a template filled with `values`, the version of drawtap and the style of all pages."""
    return templates().get_template(template).render(version=drawtap.__version__, css=asset("report.css"), **values)
