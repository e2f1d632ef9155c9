"""Vertical blanks of displays."""

from drawtap.system.driver import Draft, driver


@driver("vblank", order=40)
def vblank(draft: Draft) -> None:
    """drm_vblank_event: a display began a new image. drm_vblank_event_delivered: a client got the event that it waited
    for.

    Both are marks, on `crtc/N` and `crtc/N/delivered`; the name is the number that the display counts.
    """
    if draft.load("vblank", ("drm_vblank_event", "drm_vblank_event_delivered"), ints=("crtc", "seq")):
        draft.spans(
            "SELECT 'crtc/' || crtc || CASE WHEN event LIKE '%delivered' THEN '/delivered' ELSE '' END AS track, "
            "t AS begin_ns, t AS end_ns, (seq & 4294967295)::VARCHAR AS name, 'mark' AS kind, tid, cpu, "
            "false AS is_open "
            "FROM ev_vblank"
        )
