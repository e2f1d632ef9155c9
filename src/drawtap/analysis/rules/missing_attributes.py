"""Attributes asked for that the program does not use."""

from __future__ import annotations

from drawtap.analysis.rule import rule


@rule(
    title="Attributes asked for that the program does not use",
    fix="Leave the attribute out of the vertex format, or use it in the shader.",
    severity="note",
)
def missing_attributes() -> str:
    """The program prepares an array that the compiler found to be of no use: its memory and bandwidth are wasted."""
    return """
SELECT g.seq, g.frame FROM "glGetAttribLocation" g WHERE g.result = -1 ORDER BY g.seq
"""
