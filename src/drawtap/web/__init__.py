"""Serve recordings to a browser on this machine: `drawtap view`.

`serve` opens the socket, `guard` says who may ask, `app` maps addresses to questions, `recording` answers them.
The page in `assets/` is plain JavaScript; a panel is a query, and the page has no decoder of its own.
"""
