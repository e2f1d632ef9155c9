"""Streams: a trace that goes to somebody else while it is recorded. docs/stream-protocol.md says what is on the wire.

Here are addresses, tokens and the handshake, as recorder and receiver both need them.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import drawtap
from drawtap.errors import DrawtapError, InputError, UnavailableError, UsageError

MAGIC = b"DTSTREAM"
VERSION = 2
RECORDER, RECEIVER = 1, 2
OK, VERSION_REFUSED, TOKEN_REFUSED, ROLE_REFUSED, BUSY, CHALLENGE = range(6)
OPEN, DATA, STATUS, END, ERROR, TAKEN = range(1, 7)
HELLO = struct.Struct("<8sHBxIII")
ANSWER = struct.Struct("<8sHHI")
MESSAGE = struct.Struct("<B3xI")
LONGEST_TOKEN, LONGEST_TEXT, LONGEST_MESSAGE = 1024, 65536, 1 << 20
HANDSHAKE_SECONDS = 5.0
_PROOF = 32  # bytes of a nonce, and of what proves that a token is known


class StreamError(DrawtapError):
    """Say why a stream ended before its time. Its exit code is that of broken input."""

    exit_code = 4


@dataclass(frozen=True)
class Address:
    """Where streams come in: `tcp://host:port` or `unix:path`."""

    text: str
    path: Path | None
    host: str = ""
    port: int = 0

    @property
    def is_local(self) -> bool:
        """Tell whether only this machine can reach it."""
        return self.path is not None or all(_is_loopback(name) for name in _resolved(self.host, self.port))


@dataclass(frozen=True)
class Streaming:
    """The way of a recording to a receiver: `drawtap record --to` and its companions.

    `serve`: listen there for receivers instead of connecting to one. `wait`: seconds that the program's first call
    waits for one; None: it must be there before the program starts. `spill`: the file to go on in should it go away.
    """

    address: Address
    serve: bool = False
    wait: float | None = None
    token_file: Path | None = None
    allow_remote: bool = False
    spill: Path | None = None

    def options(self) -> list[str]:
        """Return the drainer's options for it."""
        words = ["--serve" if self.serve else "--to", self.address.text]
        words += [] if self.wait is None else ["--wait", str(self.wait)]
        words += [] if self.token_file is None else ["--token-file", str(self.token_file)]
        words += [] if self.spill is None else ["--spill", str(self.spill)]
        return [*words, "--remote", "yes" if self.allow_remote else "no"]

    def environment(self) -> dict[str, str]:
        """Return what a program's environment says, should its drainer die and another one have to go on."""
        variables = {} if self.token_file is None else {"DRAWTAP_TOKEN_FILE": str(self.token_file.absolute())}
        return variables | ({"DRAWTAP_ALLOW_REMOTE": "1"} if self.allow_remote else {})


def parse(text: str) -> Address:
    """Return the address that `text` names. Raises UsageError."""
    hint = "tcp://HOST:PORT or unix:PATH"
    if text.startswith("unix:"):
        path = Path(text.removeprefix("unix:")).absolute()
        if text == "unix:" or len(os.fsencode(path)) > 107:
            raise UsageError(f"{text}: a socket's path has 1 to 107 bytes", hint=hint)
        return Address(f"unix:{path}", path)
    host, _, port = text.removeprefix("tcp://").rpartition(":")
    if not text.startswith("tcp://") or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"{text} is not an address", hint=hint)
    return Address(text, None, host.removeprefix("[").removesuffix("]"), int(port))


def read_token(path: Path | None) -> bytes:
    """Return the token in the first line of the file `path`, else $DRAWTAP_TOKEN, else nothing.

    Raises InputError where the file cannot be read or is empty, UsageError for a token that is too long.
    """
    if path is None:
        token = os.environb.get(b"DRAWTAP_TOKEN", b"").rstrip()
    else:
        try:
            with path.open("rb") as file:
                token = file.readline(LONGEST_TOKEN + 2).rstrip()
        except OSError as error:
            raise InputError(f"the token in {path} cannot be read: {error.strerror}") from error
        if not token:
            raise InputError(f"{path} has no token in its first line")
    if len(token) > LONGEST_TOKEN:
        raise UsageError(f"the token is longer than {LONGEST_TOKEN} bytes")
    return token


def check_reach(address: Address, *, allow_remote: bool, token: bytes) -> None:
    """Refuse an address that others can reach, without permission and a token: UsageError."""
    if address.is_local:
        return
    if not allow_remote:
        raise UsageError(
            f"{address.text} can be reached from other machines",
            hint="--allow-remote and a token allow it; the stream is not encrypted: ssh -L or -R is better",
        )
    if not token:
        raise UsageError(
            f"{address.text} can be reached from other machines and needs a token",
            hint="--token-file FILE, or the environment's DRAWTAP_TOKEN",
        )


def say_hello(line: socket.socket, token: bytes) -> None:
    """Introduce ourselves, as a receiver, to a recorder that we connected to. Raises StreamError.

    With a token the recorder must show that it knows it, too.
    """
    options = json.dumps({"drawtap": drawtap.__version__}).encode()
    nonce = os.urandom(_PROOF) if token else b""
    line.settimeout(HANDSHAKE_SECONDS)
    try:
        line.sendall(HELLO.pack(MAGIC, VERSION, RECEIVER, len(nonce), len(options), 0) + nonce + options)
        version, code, text = _answer(line)
        if code == CHALLENGE:
            if not token or len(text) != _PROOF:
                raise StreamError("the recorder asks for a token", hint="--token-file FILE, or $DRAWTAP_TOKEN")
            nonces = nonce + text
            line.sendall(proof(token, b"connects", nonces))
            version, code, text = _answer(line)
            if code == OK and not _is_proof(text[:_PROOF], token, b"accepts", nonces):
                raise StreamError("the recorder does not know the token")
        elif code == OK and token:
            raise StreamError("the recorder does not show that it knows the token")
    except OSError as error:
        raise StreamError(f"the recorder does not answer: {error}") from error
    if code != OK:
        raise StreamError(f"the recorder (protocol {version}) refuses: {text.decode(errors='replace')}")


def _answer(line: socket.socket) -> tuple[int, int, bytes]:
    magic, version, code, size = ANSWER.unpack(read_exactly(line, ANSWER.size))
    if magic != MAGIC:
        raise StreamError("the other side is no recorder of drawtap")
    if size > LONGEST_TEXT:
        raise StreamError("the recorder's answer is too long")
    return version, code, read_exactly(line, size)


def proof(token: bytes, who: bytes, nonces: bytes) -> bytes:
    """Return what `who` (connects, accepts) shows to prove that it knows the token, without saying it.

    `nonces`: first the connecting side's, then the other's.
    """
    import hmac  # most recordings know no token: every start would pay for it

    return hmac.digest(token, MAGIC + b" " + who + nonces, "sha256")


def _is_proof(given: bytes, token: bytes, who: bytes, nonces: bytes) -> bool:
    import hmac

    return hmac.compare_digest(given, proof(token, who, nonces))


def welcome(line: socket.socket, token: bytes, refusal: str = "") -> Mapping[str, object]:
    """Listen to the hello of a recorder that connected, answer, and return its options.

    `refusal`: why it cannot be taken now. Raises StreamError where it is refused or says something else.
    """
    line.settimeout(HANDSHAKE_SECONDS)
    try:
        magic, version, role, nonce_size, options_size, _ = HELLO.unpack(read_exactly(line, HELLO.size))
        if magic != MAGIC:
            raise StreamError("what connected is no recorder of drawtap")
        if nonce_size > LONGEST_TOKEN or options_size > LONGEST_TEXT:
            raise StreamError("the hello of what connected is too long")
        nonce = read_exactly(line, nonce_size)
        options = read_exactly(line, options_size)
        code, text = OK, ""
        shown: bytes | None = b""
        if version != VERSION:
            code = VERSION_REFUSED
            text = (
                f"this receiver (drawtap {drawtap.__version__}) speaks version {VERSION} of the protocol, not {version}"
            )
        elif token and (shown := _challenged(line, token, nonce)) is None:
            code, text = TOKEN_REFUSED, "the token is not the receiver's"
        elif role != RECORDER:
            code, text = ROLE_REFUSED, "this is a receiver: recorders may connect to it"
        elif refusal:
            code, text = BUSY, refusal
        content = text.encode() or (shown or b"") + json.dumps({"drawtap": drawtap.__version__}).encode()
        line.sendall(ANSWER.pack(MAGIC, VERSION, code, len(content)) + content)
    except OSError as error:
        raise StreamError(f"a connection ended in its hello: {error}") from error
    if code != OK:
        raise StreamError(f"a recorder was refused: {text}")
    try:
        value = json.loads(options or b"{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


def _challenged(line: socket.socket, token: bytes, nonce: bytes) -> bytes | None:
    # The proof that we show in return, None where the other side does not know the token.
    if len(nonce) != _PROOF:
        return None
    own = os.urandom(_PROOF)
    line.sendall(ANSWER.pack(MAGIC, VERSION, CHALLENGE, len(own)) + own)
    given = read_exactly(line, _PROOF)
    if not _is_proof(given, token, b"connects", nonce + own):
        return None
    return proof(token, b"accepts", nonce + own)


def read_exactly(line: socket.socket, size: int) -> bytes:
    """Return the next `size` bytes. Raises OSError where the other side hangs up before."""
    data = bytearray(size)
    fill(line, memoryview(data))
    return bytes(data)


def fill(line: socket.socket, view: memoryview) -> None:
    """Fill `view` with the next bytes. Raises OSError where the other side hangs up before."""
    while len(view):
        count = line.recv_into(view)
        if not count:
            raise ConnectionResetError("it hung up")
        view = view[count:]


def is_own(line: socket.socket) -> bool:
    """Tell whether the process at the other end is of this user, or root; over TCP, within this machine.

    There the kernel lists whose each socket is. One that nobody has accepted yet, or that was closed, is nobody's.
    """
    if line.family != socket.AF_UNIX:
        return _is_own_tcp(line)
    _, uid, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return uid in (os.geteuid(), 0)


def _is_own_tcp(line: socket.socket) -> bool:
    own, peer = line.getsockname(), line.getpeername()
    owned = False
    for name in ("tcp", "tcp6"):
        try:
            rows = Path(f"/proc/net/{name}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            (there, there_port), (here, here_port) = (text.split(":") for text in fields[1:3])
            ports = int(there_port, 16), int(here_port, 16)
            if ports != (peer[1], own[1]) or not (_is_own_machine(there) and _is_own_machine(here)):
                continue
            if fields[9] == "0" or int(fields[7]) not in (os.geteuid(), 0):
                return False
            owned = True
    return owned


def _is_own_machine(address: str) -> bool:
    # As /proc/net/tcp writes it: words of the machine's order.
    if len(address) == 8 or address.startswith("0000000000000000FFFF0000"):
        return address.endswith("7F")
    return address == "00000000000000000000000001000000"


def _resolved(host: str, port: int) -> list[str]:
    try:
        return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except OSError as error:
        raise UnavailableError(f"there is no address for {host}: {error}") from error


def _is_loopback(name: str) -> bool:
    import ipaddress

    address = ipaddress.ip_address(name.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address.is_loopback
