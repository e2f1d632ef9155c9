"""Only the holder of the token may ask, from a page that this server sent, under a name that cannot be rebound.

A page of another site can make a browser send requests to 127.0.0.1. But it can neither read the token, which stands in
the fragment of our address, nor set a header without permission, which no answer here gives.
"""

from __future__ import annotations

import hmac
import ipaddress
import json

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
        "worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Refuse requests before they reach the application, and give every answer the headers that shut the page in.

    `framed` lets pages of this machine (a notebook) show the page in a frame; the token stays the key.

    `host` is the name that the user chose for the address; `localhost` and bare IP addresses are always right, since
    nobody can point them somewhere else.
    """

    def __init__(self, application: ASGIApp, *, token: str, host: str, framed: bool = False) -> None:
        self._application = application
        self._token = token.encode()
        self._names = {"localhost", host.lower()}
        self._framed = framed
        self._headers = dict(_HEADERS)
        if framed:
            allowed = "frame-ancestors http://localhost:* http://127.0.0.1:* https://localhost:*"
            policy = _HEADERS["content-security-policy"].replace("frame-ancestors 'none'", allowed)
            self._headers["content-security-policy"] = policy
            self._headers.pop("cross-origin-opener-policy")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        why = self._refusal(scope)
        if why is not None:
            body = json.dumps({"error": why, "hint": "drawtap view prints the whole address"}).encode()
            head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await self._with_headers(send)({"type": "http.response.start", "status": 403, "headers": head})
            await send({"type": "http.response.body", "body": body})
            return
        await self._application(scope, receive, self._with_headers(send))

    def _refusal(self, scope: Scope) -> str | None:
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        host = headers.get("host", "")
        if not self._is_ours(host):
            return "this server has another name"
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return "a page of another site asks"
        shown = self._framed and headers.get("sec-fetch-dest") == "iframe" and scope["path"] == "/"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not shown:
            return "a page of another site asks"
        if not scope["path"].startswith("/api/"):
            return None  # the page itself holds no data
        given = headers.get("authorization", "").removeprefix("Bearer ").encode("latin-1")
        return None if hmac.compare_digest(given, self._token) else "the token is missing or wrong"

    def _is_ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if name.lower() in self._names:
            return True
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    def _with_headers(self, send: Send) -> Send:
        async def wrapped(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(key.encode(), value.encode()) for key, value in self._headers.items()]
                message = {**message, "headers": [*message.get("headers", []), *extra]}
            await send(message)

        return wrapped
