"""Explanations of functions and rules for the page: addresses of documentation (as text), kinds, reasons and advice."""

from __future__ import annotations

_KHRONOS = "https://registry.khronos.org"
_MOST = 4


def pages(name: str, api: str, provided_by: str) -> list[str]:
    """Return addresses that document a function: its page, the list of pages of its API, the texts of its extensions.

    `provided_by` has versions and extensions with commas between them, as the table `functions` has it.
    """
    if api == "vk":
        return [f"{_KHRONOS}/vulkan/specs/latest/man/html/{name}.html"]
    providers = [word.strip() for word in provided_by.split(",") if word.strip()]
    urls = []
    for prefix, page in (
        ("EGL_VERSION", f"EGL/sdk/docs/man/html/{name}.xhtml"),
        ("GL_VERSION", "OpenGL-Refpages/gl4/"),
        ("GL_ES_VERSION", "OpenGL-Refpages/es3/"),
        ("GLX_VERSION", "OpenGL-Refpages/gl2.1/"),
        ("VG", "OpenVG/"),
    ):
        if any(word.startswith(f"{prefix}_") for word in providers):
            urls.append(f"{_KHRONOS}/{page}")
    if not urls:
        urls = [f"{_KHRONOS}/{page}" for page in map(_extension, providers) if page is not None]
    return urls[:_MOST]


def kinds(flags: str) -> list[tuple[str, str]]:
    """Return each kind of a function with its meaning; "" where only a later version knows the kind.

    `flags` has kinds with commas between them, as the table `functions` has it.
    """
    from drawtap.spec.model import FLAGS  # the first rows do without

    return [(flag, FLAGS.get(flag, "")) for flag in flags.split(",") if flag]


def rules() -> dict[str, dict[str, str]]:
    """Return what the page says about the rules of the checklist, by their names: title, why and fix."""
    from drawtap.analysis.rule import RULES  # only for who looks at findings

    return {name: {"title": one.title, "why": one.why, "fix": one.fix} for name, one in RULES.items()}


def _extension(word: str) -> str | None:
    """Return the place of the text of an extension, such as GL_EXT_base_instance."""
    api, _, rest = word.partition("_")
    vendor, _, name = rest.partition("_")
    if not name or vendor.startswith("VERSION"):
        return None
    folder = {"GL": "OpenGL", "GLX": "OpenGL", "EGL": "EGL"}.get(api)
    file = rest if api == "GL" else word
    return None if folder is None else f"{folder}/extensions/{vendor}/{file}.txt"
