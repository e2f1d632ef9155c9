"""Tables that are computed when a query mentions them, one file each (`drawtap.trace.computed`)."""
