"""Sphinx configuration: MyST pages, furo theme."""

project = "drawtap"
author = "The drawtap authors"
copyright = "The drawtap authors, Apache-2.0"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "drawtap"
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.xref_missing"]
