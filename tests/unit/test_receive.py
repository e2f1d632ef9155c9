"""The receiver's end of streams: what arrives becomes a file, and no peer can do harm."""

from __future__ import annotations

import contextlib
import hmac
import os
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drawtap.capture import stream
from drawtap.capture.receive import Receiver
from drawtap.errors import UsageError
from drawtap.trace.trace import open_trace

TRACE = (Path(__file__).parents[1] / "data/trace-v1-toy.dtap").read_bytes()
TOKEN, NONCE = b"word", b"n" * 32


def message(kind: int, content: bytes) -> bytes:
    """Return one message."""
    return stream.MESSAGE.pack(kind, len(content)) + content


def hello(nonce: bytes = b"", *, version: int = 2, role: int = stream.RECORDER, options: bytes = b"{}") -> bytes:
    """Return what a recorder says first."""
    return stream.HELLO.pack(stream.MAGIC, version, role, len(nonce), len(options), 0) + nonce + options


def proof(who: bytes, nonces: bytes, token: bytes = TOKEN) -> bytes:
    """Return what shows that the token is known."""
    return hmac.new(token, b"DTSTREAM " + who + nonces, "sha256").digest()


def answer(line: socket.socket) -> tuple[int, bytes]:
    """Return the code and the text that a receiver answers."""
    _, version, code, size = stream.ANSWER.unpack(stream.read_exactly(line, stream.ANSWER.size))
    assert version == 2
    return code, stream.read_exactly(line, size)


def session(trace: bytes = TRACE, *, step: int = 700) -> list[bytes]:
    """Return the messages of a whole stream."""
    parts = [trace[i : i + step] for i in range(0, len(trace), step)]
    found = [message(stream.OPEN, b'{"pid": 7, "program": "/usr/bin/../game"}')]
    found += [message(stream.DATA, part) for part in parts]
    found.insert(2, message(stream.STATUS, b'{"calls": 5, "frames": 1}'))
    return [*found, message(stream.END, len(trace).to_bytes(8, "little") + b'{"calls": 9}')]


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    (tmp_path / "in").mkdir()
    with Receiver(stream.parse("tcp://127.0.0.1:0"), tmp_path / "in") as made:
        yield made


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Receiver]:
    (tmp_path / "in").mkdir()
    with Receiver(stream.parse("tcp://127.0.0.1:0"), tmp_path / "in", token=TOKEN) as made:
        yield made


def connect(receiver: Receiver) -> socket.socket:
    host, port = receiver.address.removeprefix("tcp://").split(":")
    return socket.create_connection((host, int(port)), timeout=300)


def say(receiver: Receiver, *parts: bytes) -> None:
    """Say all this and hang up."""
    with connect(receiver) as line:
        try:
            for part in parts:
                line.sendall(part)
            line.shutdown(socket.SHUT_WR)
            while line.recv(65536):
                pass
        except OSError:
            pass  # it has hung up: it may


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.005)


def closed(receiver: Receiver) -> bool:
    return not receiver._lines and all(s.state != "open" for s in receiver.streams)


def test_what_arrives_is_what_was_sent(receiver: Receiver) -> None:
    say(receiver, hello(), *session())
    wait_for(lambda: receiver.is_idle)
    (got,) = receiver.streams
    assert (got.state, got.pid, got.bytes) == ("whole", 7, len(TRACE))
    assert got.file.name == "game.dtap"
    assert got.file.read_bytes() == TRACE
    assert got.file.stat().st_mode & 0o777 == 0o600
    # What the recorder said (9 calls, 1 frame) is not what is in the file.
    with open_trace(got.file) as trace:
        assert (got.calls, got.frames) == (trace.info["calls"], trace.info["frames"]) != (9, 1)


def test_a_token_is_shown_to_be_known_by_both_and_never_said(guarded: Receiver) -> None:
    with connect(guarded) as line:
        line.sendall(hello(NONCE))
        code, challenge = answer(line)
        assert (code, len(challenge)) == (stream.CHALLENGE, 32)
        line.sendall(proof(b"connects", NONCE + challenge))
        code, text = answer(line)
        assert code == stream.OK
        assert text[:32] == proof(b"accepts", NONCE + challenge)
        line.sendall(b"".join(session()))
        wait_for(lambda: guarded.is_idle)
    assert guarded.streams[0].state == "whole"
    with connect(guarded) as line:  # what was heard once is worth nothing
        line.sendall(hello(NONCE))
        code, other = answer(line)
        assert other != challenge
        line.sendall(proof(b"connects", NONCE + challenge))
        assert answer(line)[0] == stream.TOKEN_REFUSED
    for nonce, shown in ((b"", b""), (b"word", b""), (NONCE, b"\0" * 32), (NONCE, text[:32])):
        with connect(guarded) as line:
            line.sendall(hello(nonce))
            code, _ = answer(line)
            if code == stream.CHALLENGE:
                line.sendall(shown)
                code, _ = answer(line)
            assert code == stream.TOKEN_REFUSED
    say(guarded, hello(NONCE), b"short")
    wait_for(lambda: closed(guarded) and len(guarded.refused) == 6)
    assert len(guarded.streams) == 1


@pytest.mark.parametrize("knows", [True, False])
def test_a_recorder_has_to_know_the_token_too(knows: bool) -> None:
    ours, theirs = socket.socketpair()

    def recorder() -> None:
        said = stream.HELLO.unpack(stream.read_exactly(theirs, stream.HELLO.size))
        nonces = stream.read_exactly(theirs, said[3]) + NONCE
        stream.read_exactly(theirs, said[4])
        theirs.sendall(stream.ANSWER.pack(stream.MAGIC, 2, stream.CHALLENGE, 32) + NONCE)
        stream.read_exactly(theirs, 32)
        content = proof(b"accepts", nonces, TOKEN if knows else b"guess") + b"{}"
        theirs.sendall(stream.ANSWER.pack(stream.MAGIC, 2, stream.OK, len(content)) + content)

    thread = threading.Thread(target=recorder)
    thread.start()
    with ours, theirs, contextlib.nullcontext() if knows else pytest.raises(stream.StreamError, match="does not know"):
        stream.say_hello(ours, TOKEN)
    thread.join()


def test_a_recorder_must_ask_for_the_token_wherever_it_is() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall((stream.ANSWER.pack(stream.MAGIC, 2, stream.OK, 2) + b"{}") * 2)
        stream.say_hello(ours, b"")
        with pytest.raises(stream.StreamError, match="does not show"):
            stream.say_hello(ours, TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_over_loopback_only_the_own_user_is_believed(
    host: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, 0), family=family)
    except OSError as error:
        pytest.skip(f"{host}: {error}")
    port = listener.getsockname()[1]
    with listener, socket.create_connection((host, port)) as ours:
        assert not stream.is_own(ours)  # nobody has accepted it: it may become anybody's
        theirs, _ = listener.accept()
        assert stream.is_own(ours) and stream.is_own(theirs)
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        assert stream.is_own(ours) is (os.getuid() == 0)  # root's is believed by all
        theirs.close()
        wait_for(lambda: not stream.is_own(ours))
    monkeypatch.undo()
    # The receiver asks, unless a token does.
    monkeypatch.setattr(stream, "is_own", lambda line: False)
    with Receiver(stream.parse("tcp://127.0.0.1:0"), tmp_path) as made:
        say(made, hello(), *session())
        wait_for(lambda: made.refused and closed(made))
        assert "another user" in made.refused[0] and not made.streams


def test_whoever_hangs_up_leaves_whole_chunks(receiver: Receiver) -> None:
    """At every message, and in the middle of each."""
    whole = session()
    ends = chunk_ends()
    expected = 0
    for count in range(len(whole)):
        for extra in (b"", whole[count][: len(whole[count]) // 2]):
            say(receiver, hello(), *whole[:count], extra)
            expected += count > 0  # before the first there is no trace
            wait_for(lambda: len(receiver.streams) == expected and closed(receiver))  # noqa: B023
            if not count:
                continue
            got = receiver.streams[-1]
            assert got.state == "torn"
            assert got.error
            kept = got.file.read_bytes() if got.file.exists() else b""
            assert TRACE.startswith(kept)
            assert len(kept) in {0, *ends}
            got.file.unlink(missing_ok=True)


def chunk_ends() -> set[int]:
    """Return where the file's header and its chunks end."""
    at, found = 32, {32}
    while TRACE[at : at + 4] == b"DTCK":
        at += 32 + struct.unpack_from("<Q", TRACE, at + 8)[0]
        found.add(at)
    return {*found, len(TRACE)}


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        hello()[:20],
        hello(b"odd"),
        hello(b"word", version=1),
        hello(version=9),
        hello(role=stream.RECEIVER),
        stream.HELLO.pack(stream.MAGIC, 2, 1, 1 << 30, 1 << 30, 0),
        hello() + message(stream.DATA, TRACE[:100]),
        hello() + b"\xff" * 8,
        hello() + message(stream.OPEN, b"[" * 60000) + message(stream.END, b""),
        hello() + message(stream.OPEN, b"{}") + stream.MESSAGE.pack(stream.DATA, 1 << 31),
        hello() + message(stream.OPEN, b"{}") + message(stream.DATA, b"x" * 64),
        hello() + message(stream.OPEN, b"{}") + message(stream.DATA, TRACE[:32] + b"y" * 64),
        hello() + message(stream.OPEN, b"{}") + message(stream.DATA, TRACE + b"more"),
        hello() + message(stream.OPEN, b"{}") + message(stream.END, (0).to_bytes(8, "little")),
        hello() + message(stream.OPEN, b"{}") + message(stream.ERROR, b"no more"),
        hello() + message(stream.OPEN, b'{"program": "../../../../etc/passwd", "pid": "x"}') + message(77, b""),
    ],
    ids=range(18),
)
def test_nonsense_is_turned_away_and_others_are_served(receiver: Receiver, said: bytes, tmp_path: Path) -> None:
    say(receiver, said)
    wait_for(lambda: closed(receiver))
    assert all(s.state == "torn" for s in receiver.streams)
    before = len(receiver.streams)
    say(receiver, hello(), *session())
    wait_for(lambda: len(receiver.streams) > before and closed(receiver))
    assert receiver.streams[-1].state == "whole"
    assert receiver.streams[-1].file.read_bytes() == TRACE
    assert {path.parent for path in tmp_path.rglob("*.dtap")} == {tmp_path / "in"}


def test_random_bytes_and_many_silent_ones(receiver: Receiver) -> None:
    chance = random.Random(5)
    silent = [connect(receiver) for _ in range(40)]
    for _ in range(60):
        data = bytearray(b"".join([hello(), *session()]))
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        say(receiver, bytes(data[: chance.randrange(len(data))]))
    threads = [threading.Thread(target=say, args=(receiver, hello(), *session())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_for(lambda: sum(s.state == "whole" for s in receiver.streams) >= 4)
    for line in silent:
        line.close()
    wait_for(lambda: closed(receiver))
    for got in receiver.streams:
        kept = got.file.read_bytes() if got.file.exists() else b""
        assert got.state == "torn" or len(kept) == len(TRACE)


def test_a_stopped_receiver_tells_the_recorder(tmp_path: Path) -> None:
    with Receiver(stream.parse(f"unix:{tmp_path}/s"), tmp_path / "a.dtap") as receiver:
        line = socket.socket(socket.AF_UNIX)
        line.connect(str(tmp_path / "s"))
        line.settimeout(300)
        line.sendall(hello(b"") + b"".join(session()[:4]))
        wait_for(lambda: receiver.streams and receiver.streams[0].bytes == 1400)
    said = b""
    while part := line.recv(65536):
        said += part
    line.close()
    assert said.endswith(message(stream.ERROR, b"the receiver was stopped"))
    assert not (tmp_path / "s").exists()
    assert TRACE.startswith((tmp_path / "a.dtap").read_bytes())


def test_no_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.dtap").write_text("mine")
    with pytest.raises(UsageError, match="exists"):
        Receiver(stream.parse("tcp://127.0.0.1:0"), tmp_path / "a.dtap")
    (tmp_path / "game.dtap").symlink_to(tmp_path / "elsewhere")
    with Receiver(stream.parse("tcp://127.0.0.1:0"), tmp_path) as receiver:
        say(receiver, hello(b""), *session())
        wait_for(lambda: receiver.is_idle)
    assert receiver.streams[0].file.name == "game-2.dtap"
    assert not (tmp_path / "elsewhere").exists()
