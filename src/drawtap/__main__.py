"""Run `python -m drawtap`."""

from __future__ import annotations

from drawtap.cli import main

main()
