"""The manager with programs that only pretend: what it knows, says, holds, and whom it does not believe."""

from __future__ import annotations

import contextlib
import grp
import json
import os
import random
import socket
import struct
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from drawtap.commands.top import rows_of
from drawtap.errors import InputError, UnavailableError, UsageError
from drawtap.live import clients, pages
from drawtap.live.client import Client
from drawtap.live.config import load_config, parse
from drawtap.live.exporter import Exporter, checked_address
from drawtap.live.folder import Folder, make_folder
from drawtap.live.identity import Peer, groups_of, is_admin, peer_of, started_of
from drawtap.live.protocol import MOST_LINE, REQUESTS, schema
from drawtap.live.shares import ordinary
from pretended import PATIENCE_S, PretendedProgram, wait_for

MS = 1_000_000


def one(running) -> dict:
    with running.client() as client:
        programs = client.ask("list")["programs"]
    assert len(programs) == 1
    return programs[0]


def steady(running, program) -> dict:
    """Show a second of frames and return what the manager knows of them, before they are old: again if it was late."""

    def seen_in_time() -> bool:
        program.show(100, 10 * MS)
        if abs(one(running)["surfaces"][0]["fps"] - 100) < 2:
            return True
        time.sleep(1.1)
        return False

    wait_for(seen_in_time, "a look in time")
    return one(running)


def test_a_program_is_seen_limited_and_let_go(start):
    running = start()
    program = running.program()
    known = steady(running, program)
    assert known["pid"] == os.getpid() and known["uid"] == os.geteuid()
    assert known["name"].startswith("python") and Path(known["exe"]).exists()  # /proc says so, not the program
    surface = known["surfaces"][0]
    assert surface["width"] == 640 and surface["swap_interval"] == 1 and surface["kind"] == "egl"
    assert surface["frame_ms"] is None or surface["frame_ms"]["p50"] == pytest.approx(10)
    with running.client() as client:
        answer = client.ask("limit", program=os.getpid(), fps=50, pacing="late")
        assert answer["programs"][0]["limit"] == {
            "fps": 50,
            "reason": "you said so",
            "origin": "user",
            "pacing": "late",
        }
        assert program.interval_ns == 20 * MS
        first = program.lease_ns
        wait_for(lambda: program.lease_ns > first, "a new lease")
        client.ask("limit", program=os.getpid(), fps=None)
        assert program.interval_ns == 0
        client.ask("limit", program="python*", fps=30, surface=1)
        assert struct.unpack_from("<QQ", program.control, pages._LIMITS) == (77, round(1e9 / 30))
        client.ask("class", program=os.getpid(), target_fps=60)
        limited = one(running)
        assert limited["goal_fps"] == 30  # more cannot be expected of it
        assert limited["limit"] is None and limited["surfaces"][0]["limit"]["fps"] == 30
        client.ask("limit", program="python*", fps=None, surface=1)
        assert one(running)["goal_fps"] == 60
        client.ask("limit", program=os.getpid(), free=True)
        assert one(running)["free"] == "you said so"
        assert rows_of([one(running)], "*")[0][8:10] == (None, "user: free, you said so")
        with pytest.raises(UsageError, match="no surface 2"):
            client.ask("limit", program="python*", fps=30, surface=2)
        client.ask("limit", program=os.getpid(), fps=20)
    program.socket.close()
    wait_for(lambda: not running.manager.programs.by_id, "the program's end")
    assert program.interval_ns == 0 and program.lease_ns == 0
    assert [e["frames"] for e in running.events("program-gone")] == [program.shown]


def test_a_policy_holds_and_people_go_before_it(start):
    running = start({"manager": {"policy": "profiles"}, "policy": {"profiles": {"fps": {"python*": 40}}}})
    program = running.program()
    program.show(10, 10 * MS)
    wait_for(lambda: program.interval_ns == 25 * MS, "the policy's limit")
    assert one(running)["limit"]["origin"] == "profiles"
    with running.client() as client:
        client.ask("limit", program=os.getpid(), free=True)
        assert program.interval_ns == 0
        client.ask("limit", program=os.getpid(), fps=None)
        assert program.interval_ns == 25 * MS
        assert client.ask("policy")["policies"] == ["profiles"]
        client.ask("policy", policies=[])
        assert program.interval_ns == 0
        with pytest.raises(UsageError, match="no policy"):
            client.ask("policy", policies=["nonsense"])
    assert running.events("limit")[0]["text"].startswith("40 FPS: the profile of python*")


def test_what_a_program_was_started_with_holds_unless_less_is_said(start):
    running = start()
    program = running.program(own_ns=50 * MS)
    program.show(10, 10 * MS)
    assert program.interval_ns == 50 * MS  # from the first frame on: before any look
    assert one(running)["limit"] | {"pacing": 0} == {
        "fps": 20,
        "reason": "it was started with that",
        "origin": "start",
        "pacing": 0,
    }
    assert rows_of([one(running)], "*")[0][8:10] == (20, "start: it was started with that")
    with running.client() as client:
        client.ask("limit", program=os.getpid(), fps=40)  # people go before it, and may take that back
        assert program.interval_ns == 25 * MS
        client.ask("limit", program=os.getpid(), fps=None)
        assert program.interval_ns == 50 * MS
    policies = start({"manager": {"policy": "profiles"}, "policy": {"profiles": {"fps": {"python*": 40}}}})
    for own_ns, holds, who in ((50 * MS, 50 * MS, "start"), (5 * MS, 25 * MS, "profiles")):
        program = policies.program(own_ns=own_ns)
        wait_for(lambda: program.interval_ns == holds, "the lower one")  # noqa: B023
        assert one(policies)["limit"]["origin"] == who
        program.socket.close()
        wait_for(lambda: not policies.manager.programs.by_id, "its end")


def test_what_people_said_holds_over_a_restart(start):
    first = start()
    program = first.program()
    program.show(10, 10 * MS)
    with first.client() as client:
        client.ask("limit", program=os.getpid(), fps=50, pacing="late")
        client.ask("limit", program="python*", fps=30, surface=1)
        client.ask("class", program=os.getpid(), **{"class": "high", "target_fps": 60, "weight": 2})
        before = one(first)
    assert first.folder.kept.stat().st_mode & 0o777 == 0o600
    first.loop.call_soon_threadsafe(first.manager.stop)
    wait_for(lambda: not first.folder.lock.exists(), "the manager's end")
    second = start(after=first)
    again = second.program()
    assert again.interval_ns == 20 * MS  # at once: before any look
    again.show(10, 10 * MS)
    known = one(second)
    same = ("limit", "class", "target_fps", "weight")
    assert [known[k] for k in same] == [before[k] for k in same]
    assert known["surfaces"][0]["limit"]["fps"] == 30
    with second.client() as client:
        client.ask("limit", program=os.getpid(), fps=None)
        client.ask("limit", program="python*", fps=None, surface=1)
        client.ask("class", program=os.getpid(), **{"class": None, "target_fps": None, "weight": None})
    assert json.loads(second.folder.kept.read_text()) == {}


@pytest.mark.parametrize("said", ["", "[", "[" * 9000, "7", '{"1 x /y": 3}', "OWN 3", 'OWN {"limit": {"fps": 1e999}}',
                                  'OWN {"surfaces": [1], "weight": "x"}', 'OWN {"limit": {"fps": 5}}'])  # fmt: skip
def test_what_stands_in_that_file_is_not_believed(start, tmp_path, said):
    first = start()
    kept = first.folder.kept
    own = json.dumps(f"{os.getpid()} {started_of(os.getpid())} {Path('/proc/self/exe').readlink()}")
    kept.write_text(f"{{{own}: {said[4:]}}}" if said.startswith("OWN") else said)
    kept.chmod(0o600)
    first.loop.call_soon_threadsafe(first.manager.stop)
    wait_for(lambda: not first.folder.lock.exists(), "the manager's end")
    assert start(after=first).program().interval_ns == 0


def test_classes_targets_and_focus_are_told(start):
    running = start(
        {"program": [{"name": "python*", "class": "high", "target": 60, "floor": 20, "fps": 90, "title": "snakes"}]}
    )
    program = running.program()
    program.show(10, 10 * MS)
    known = one(running)
    assert (known["class"], known["target_fps"], known["profile"]) == ("high", 60, "snakes")
    assert known["limit"]["origin"] == "profile" and program.interval_ns == round(1e9 / 90)
    with running.client() as client:
        answer = client.ask("class", program=os.getpid(), **{"class": "background", "target_fps": 30, "weight": 2})
        assert [answer["programs"][0][k] for k in ("class", "target_fps", "weight")] == ["background", 30, 2]
        limited = client.ask("limit", program=os.getpid(), fps=12)["programs"][0]
        assert (limited["target_fps"], limited["goal_fps"]) == (30, 12)
        client.ask("limit", program=os.getpid(), fps=None)
        assert client.ask("class", program=os.getpid(), **{"class": None})["programs"][0]["class"] == "high"
        assert client.ask("focus", program=os.getpid())["programs"][0]["focused"] is True
        client.ask("focus", program=None)
    assert one(running)["focused"] is False


def test_alarms_are_rules_on_what_is_seen(start):
    running = start(
        {
            "program": [{"name": "*", "target": 60}],
            "alarm": [{"rule": "target-missed", "seconds": 0.1, "actions": ["log"]}],
        }
    )
    program = running.program()

    def goes_off() -> bool:
        program.show(1, 0)
        time.sleep(0.05)
        return bool(running.events("alarm"))

    wait_for(goes_off, "the alarm")
    assert running.events("alarm")[0]["alarm"] == "target-missed"
    wait_for(lambda: program.show(1, 0) or one(running)["alarms"], "the alarm in the list")


def test_commands_of_alarms_that_fail_are_logged(start):
    commands = ["sh -c 'exit 3'", "sh -c 'kill -9 $$'", "true", "sh -c 'echo no; exit 4'", "/no/such/command"]
    actions = [{"do": "run", "command": command} for command in commands]
    alarm = {"rule": "target-missed", "seconds": 0.1, "actions": actions, "least_s": 3600}
    running = start({"program": [{"name": "*", "target": 60}], "alarm": [alarm]})
    program = running.program()

    def all_failed() -> bool:
        program.show(1, 0)
        time.sleep(0.05)
        return len(running.events("action-failed")) == 4

    wait_for(all_failed, "the failures in the log")
    said = {e.get("code"): e for e in running.events("action-failed")}
    assert set(said) == {3, 4, -9, None}
    assert said[3]["text"] == "exit code 3" and said[-9]["text"] == "ended by signal 9"
    assert said[3]["pid"] == os.getpid() and said[3]["alarm"] == "target-missed"
    assert said[4]["command"] == ["sh", "-c", "echo no; exit 4"] and "no program" in said[None]["text"]


def test_everything_said_is_as_the_schema_has_it(start):
    running = start()
    program = running.program()
    program.show(100, 10 * MS)
    checker = jsonschema.Draft202012Validator(schema())
    checker.check_schema(schema())
    requests = [
        {"op": "hello", "id": 7},
        {"op": "list", "recent": 5},
        {"op": "limit", "program": os.getpid(), "fps": 30.5, "id": "x"},
        {"op": "limit", "program": os.getpid(), "fps": None},
        {"op": "class", "program": os.getpid(), "class": "high"},
        {"op": "focus", "program": None},
        {"op": "policy"},
        {"op": "config"},
        {"op": "log", "most": 3},
        {"op": "limit", "program": "none such", "fps": 3},
        {"op": "watch", "period": 0.1, "recent": 10},
    ]
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(running.folder.clients))
        raw.settimeout(30)
        lines = raw.makefile("rb")
        for request in requests:
            checker.validate(request)
            raw.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(lines.readline())
            checker.validate(answer)
            assert answer.get("id") == request.get("id")
            assert answer["ok"] is (request.get("program") != "none such")
        event = json.loads(lines.readline())
        checker.validate(event)
        assert event["event"] == "programs" and len(event["programs"][0]["surfaces"][0]["recent_ms"]) == 10
    assert set(REQUESTS) == {r["properties"]["op"]["const"] for r in schema()["$defs"]["request"]["anyOf"]}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"nonsense", "JSON object"),
        (b"[" * 5000, "JSON object"),
        (b"[1]", "JSON object"),
        (b'{"op": "lst"}', "no op 'lst'"),
        (b'{"op": 3}', "no op"),
        (b'{"op": "limit"}', "needs program"),
        (b'{"op": "limit", "program": 1, "fps": "fast"}', "fps is of type"),
        (b'{"op": "limit", "program": 1, "fps": 0.5}', "fps is from 1"),
        (b'{"op": "limit", "program": 1, "fps": true}', "fps is of type"),
        (b'{"op": "limit", "program": 1, "fps": NaN}', "fps is from 1"),
        (b'{"op": "limit", "program": 1, "path": "/etc/passwd"}', "no field 'path'"),
        (b'{"op": "class", "program": 1, "class": "king"}', "class is one of critical, high, normal, background, none"),
        (b'{"op": "limit", "program": 1, "fps": 9}', "is not under the manager"),
        (b'{"op": "limit", "program": 2147483647, "fps": 9}', "there is no process 2147483647"),
        (b'{"op": "limit", "program": "nobody", "fps": 9}', "knows no program 'nobody'"),
        (b'{"op": "trace-begin", "token": "../../etc"}', "no such trace"),
        (b'{"op": "list", "id": {}}', "id is a number"),
    ],
)
def test_requests_that_make_no_sense_are_answered(start, line, said):
    running = start()
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(30)
        raw.connect(str(running.folder.clients))
        raw.sendall(line + b"\n")
        answer = json.loads(raw.makefile("rb").readline())
    assert not answer["ok"] and said in answer["error"] and answer["code"] in (2, 3)


def test_a_configuration_is_read_again_and_a_wrong_one_refused(start, tmp_path):
    file = tmp_path / "manager.toml"
    file.write_text("[manager]\nperiod = 0.05\n[[program]]\nname = 'python*'\nfps = 50\n")
    running = start(file)
    program = running.program()
    assert program.interval_ns == 20 * MS
    file.write_text("[manager]\nperiod = 0.05\n[[program]]\nname = 'python*'\nfps = 25 # changed\n")
    wait_for(lambda: program.interval_ns == 40 * MS, "the new limit")
    file.write_text("[manager]\nperiod = 'often'\n[[program]]\nname = 'python*'\nfps = 10\n")
    wait_for(lambda: running.events("config-refused"), "the refusal")
    assert program.interval_ns == 40 * MS
    with running.client() as client:
        assert "period" in client.ask("config")["error"]
        file.write_text("[manager]\nperiod = 0.05\n")
        answer = client.ask("config", reload=True)
    assert answer["error"] is None and answer["profiles"] == []
    wait_for(lambda: program.interval_ns == 0, "no limit any more")


def test_looks_that_would_take_too_much_come_less_often(start):
    running = start({"manager": {"load": 0.01}})
    look = running.manager.tick

    def busy() -> None:
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass
        look()

    def period() -> float:
        with running.client() as client:
            return client.ask("list")["manager"]["period_s"]

    running.manager.tick = busy
    wait_for(lambda: period() == 0.5, "the longest distance: four looks in a lease of 2 s")
    running.manager.tick = lambda: None
    wait_for(lambda: period() == 0.05, "what was set")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[manager]\nperiod = 99", "period = 99"),
        ("[manager]\nlease = 0.5\nperiod = 0.4", "lease is shorter"),
        ("[manager]\npolicies = ['none such']", "no policy called 'none such'"),
        ("[manager]\npacing = 'sometimes'", "pacing = 'sometimes'"),
        ("[managr]", "did you mean manager"),
        ("[[program]]\nname = 'x'\nclass = 'king'", r"x: class = 'king' \(one of critical"),
        ("[[program]]\nname = 'x'\nclas = 'high'", r"no setting 'clas' \(did you mean class"),
        ("[[program]]\ntarget = 0", "program 1: target = 0"),
        ("[[program]]\nfps = 0", "fps = 0"),
        ("[[program]]\nname = 'x'\nweight = 0", "weight = 0"),
        ("[program]\nname = 'x'", r"written as \[\[program\]\]"),
        ("[policy.static]\nfpss = 3", "no setting 'fpss'"),
        ("[[alarm]]\nrule = 'none such'", "none such"),
        ("nonsense", "is no TOML"),
    ],
)
def test_wrong_configurations_say_what_is_wrong(tmp_path, text, said):
    file = tmp_path / "manager.toml"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        load_config(file)


def test_a_second_manager_is_refused(start, tmp_path):
    running = start()
    from drawtap.live.journal import Journal
    from drawtap.live.manager import Manager

    second = Manager(running.folder, parse({}), Journal(tmp_path / "log"))
    with pytest.raises(UnavailableError, match=f"process {os.getpid()}"):
        second.start()
    assert running.folder.programs.exists()  # the first one's socket is still there


def test_sockets_are_the_users_own(start):
    running = start()
    assert running.folder.path.stat().st_mode & 0o777 == 0o700
    for path in (running.folder.programs, running.folder.clients, running.folder.lock):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_folder_of_somebody_else_is_not_taken(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(UnavailableError, match="somebody else"):
        make_folder(Folder(link))


def test_without_a_manager_it_is_said(tmp_path):
    with pytest.raises(UnavailableError, match="no manager runs"):
        Client(Folder(tmp_path))


# ---- hostile ------------------------------------------------------------------------------------------------


def test_hostile_programs_hurt_nobody(start):
    running = start({"manager": {"max_programs": 8}})
    good = running.program()
    good.show(10, 10 * MS)
    rng = random.Random(1)
    folder = running.folder
    hello = pages.HELLO.pack(pages.MAGIC, pages.VERSION, 1, 0, b"x", b"egl")

    def refused(data: bytes | None, **how: object) -> None:
        bad = PretendedProgram(folder, greet=False, **{k: v for k, v in how.items() if k != "descriptors"})
        bad.hello(data, descriptors=int(how.get("descriptors", 1)))
        assert not bad.hear_welcome()
        bad.close()

    refused(None, seal=False)  # a page that can shrink
    refused(None, size=4096)
    refused(None, size=0)
    refused(None, descriptors=0)
    refused(None, descriptors=3)
    refused(hello[:100])
    refused(hello + b"x")
    refused(b"x")
    refused(pages.HELLO.pack(pages.MAGIC, 99, 1, 0, b"x", b"egl"))
    for _ in range(50):
        refused(rng.randbytes(rng.choice((1, 16, pages.HELLO.size, 4000))), descriptors=rng.choice((0, 1, 5)))
    # Dead in the middle: connected and gone, greeted and gone.
    for number in range(200):
        bad = PretendedProgram(folder, greet=False)
        if number % 2:
            bad.hello()
        bad.close()
    # A flood of letters that nobody asked for.
    flood = running.program()
    try:
        for _ in range(10000):
            flood.socket.send(pages.LETTER.pack(pages.MAGIC, 3, 1, 0, b""))
    except OSError:
        pass
    wait_for(lambda: len(running.manager.programs.by_id) == 1, "the others' end")
    # Truncated after it was taken: the seals do not let it.
    victim = running.program()
    with pytest.raises(PermissionError):
        os.ftruncate(victim.fd, 0)
    # Nonsense on a page that was taken.
    for _ in range(20):
        os.pwrite(victim.fd, rng.randbytes(pages.STATS_BYTES - 16), 16)
        with running.client() as client:
            assert len(client.ask("list")["programs"]) == 2
    many = []
    for _ in range(6):
        many.append(running.program())
    one_more = PretendedProgram(folder, greet=False)
    one_more.hello()
    assert not one_more.hear_welcome()
    one_more.close()
    good.show(10, 10 * MS)
    with running.client() as client:
        client.ask("limit", program=os.getpid(), fps=10)
    assert good.interval_ns == 100 * MS


def test_hostile_clients_hurt_nobody(start, monkeypatch):
    monkeypatch.setattr(clients, "DEAF_SECONDS", 0.2)
    running = start({"manager": {"max_clients": 16}})
    program = running.program()
    program.show(200, 10 * MS)
    rng = random.Random(2)
    watcher = running.client()
    watcher.ask("watch", period=0.1)
    path = str(running.folder.clients)

    def connect() -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        made.connect(path)
        made.settimeout(30)
        return made

    # A line without an end.
    with connect() as raw, pytest.raises(OSError, match=r"reset|Broken"):
        raw.sendall(b"x" * MOST_LINE * 200)
    for _ in range(100):
        with connect() as raw, contextlib.suppress(OSError):  # too many at once: the manager hangs up first
            raw.sendall(rng.randbytes(rng.randrange(1, 2000)) + rng.choice((b"", b"\n")))
    # Asks for much and reads nothing.
    deaf = connect()
    with pytest.raises(OSError, match=r"reset|Broken"):
        deaf.sendall(b'{"op": "list", "recent": 600}\n' * 100_000)
    deaf.close()
    # Thousands of connections.
    crowd = []
    for _ in range(2000):
        made = socket.socket(socket.AF_UNIX)
        made.setblocking(False)
        try:
            made.connect(path)
        except OSError:
            made.close()
            continue
        crowd.append(made)
    for made in crowd:
        made.close()

    def can_ask() -> bool:
        try:
            with running.client() as client:
                return len(client.ask("list")["programs"]) == 1
        except UnavailableError:
            return False

    wait_for(can_ask, "room for a client")
    assert next(watcher.events(seconds=30))["event"] == "programs"
    watcher.close()


def test_no_user_takes_all_the_room(start, monkeypatch):
    running = start({"manager": {"max_clients": 32}})
    monkeypatch.setattr("drawtap.live.manager.Manager.period", 0.002)  # two looks for each of a hundred connections
    asks = {"uid": 0}
    monkeypatch.setattr(clients, "peer_of", lambda connection: Peer(1, asks["uid"], 4321))
    greedy, other, third = (os.geteuid() + 1 + i for i in range(3))
    held = []

    def connected(uid: int) -> socket.socket:
        """Connect as a user, without a word."""
        asks["uid"] = uid
        before = running.manager._ticks  # the connection is taken in the loop that also looks
        made = socket.socket(socket.AF_UNIX)
        made.connect(str(running.folder.clients))
        wait_for(lambda: running.manager._ticks > before + 1, "a look")
        return made

    def served(uid: int) -> bool:
        made = connected(uid)
        made.settimeout(PATIENCE_S)
        answer = b""
        with contextlib.suppress(OSError):  # not even an answer
            with contextlib.suppress(BrokenPipeError):  # it has answered already
                made.sendall(b'{"op": "hello"}\n')
            answer = made.recv(65536)
        made.close()
        return b'"ok": true' in answer

    held = [connected(greedy) for _ in range(40)]
    assert sum(_is_open(made) for made in held) == ordinary(32) // 2
    assert served(other) and served(third) and served(0)
    # Two of them leave room for root and the manager's user alone, and for a third none of their own is idle yet.
    monkeypatch.setattr(clients, "IDLE_BEFORE_LEAVING", 1e9)
    more = [connected(other) for _ in range(40)]
    assert not served(third) and served(0)
    # Whoever has most makes room with what was idle for longest.
    monkeypatch.setattr(clients, "IDLE_BEFORE_LEAVING", 0.0)
    assert served(third)
    assert sum(map(_is_open, held)) + sum(map(_is_open, more)) == ordinary(32) - 1
    for made in (*held, *more):
        made.close()
    # Whoever comes again and again is not even answered after a while; others are.
    monkeypatch.setattr("drawtap.live.shares._PER_SECOND", 0)  # a slow machine gives them no time to calm down
    for _ in range(400):
        with socket.socket(socket.AF_UNIX) as made:
            asks["uid"] = greedy
            made.connect(str(running.folder.clients))
    assert not served(greedy)
    assert served(other) and served(0)
    assert {e["why"] for e in running.events("refused")} == {"too many", "too often"}


def test_idle_clients_are_let_go(start, monkeypatch):
    monkeypatch.setattr(clients, "IDLE_SECONDS", 0.05)
    running = start()
    with running.client() as watcher, socket.socket(socket.AF_UNIX) as idle:
        watcher.ask("watch", period=0.1)
        idle.connect(str(running.folder.clients))
        idle.settimeout(PATIENCE_S)
        assert idle.recv(100) == b""
        assert next(watcher.events(seconds=PATIENCE_S))["event"] == "programs"


def _is_open(made: socket.socket) -> bool:
    made.setblocking(False)
    try:
        made.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False  # it hung up, or said why it does


def test_only_this_machine_reads_figures():
    assert checked_address("127.0.0.1:9105") == ("127.0.0.1", 9105)
    assert checked_address("[::1]:0") == ("::1", 0)
    assert checked_address("unix:/tmp/x") == Path("/tmp/x")
    for wrong in ("0.0.0.0:9105", "example.org:80", "127.0.0.1:x", "127.0.0.1:99999", "192.168.1.1:80"):
        with pytest.raises(UsageError):
            checked_address(wrong)


def test_figures_for_prometheus(start):
    from prometheus_client.parser import text_string_to_metric_families

    running = start({"program": [{"name": "*", "fps": 30, "target": 60}]})
    program = running.program()
    steady(running, program)
    text = Exporter(running.manager).text().decode()
    families = {f.name: f for f in text_string_to_metric_families(text)}
    (frames,) = families["drawtap_frames"].samples
    assert (
        frames.value == program.shown and frames.labels["pid"] == str(os.getpid()) and frames.labels["surface"] == "1"
    )
    assert families["drawtap_fps"].samples[0].labels["name"].startswith("python")
    assert {s.labels["quantile"] for s in families["drawtap_frame_seconds"].samples} <= {"0.5", "0.95", "0.99"}
    assert families["drawtap_limit_fps"].samples[0].value == 30
    assert families["drawtap_target_fps"].samples[0].value == 60


def test_who_may_see_to_programs_of_others():
    one, other = socket.socketpair()
    peer = peer_of(one)
    assert (peer.uid, peer.pid) == (os.geteuid(), os.getpid())
    assert set(os.getgroups()) <= groups_of(one, peer) and peer.gid in groups_of(one, peer)
    stranger = Peer(1, os.geteuid() + 1, 4321)
    name = grp.getgrgid(0).gr_name
    assert is_admin(peer, frozenset(), "")
    assert is_admin(Peer(1, 0, 0), frozenset(), "")
    assert not is_admin(stranger, frozenset({4321}), "") and not is_admin(stranger, frozenset({0}), "no such group")
    assert is_admin(stranger, frozenset({0, 4321}), name) and not is_admin(stranger, frozenset({4321}), name)
    one.close()
    other.close()


def test_users_see_programs_of_their_own(start, monkeypatch):
    running = start({"manager": {"admin_group": grp.getgrgid(0).gr_name}})
    program = running.program()
    program.show(10, 10 * MS)
    stranger = Peer(1, os.geteuid() + 1, 4321)
    monkeypatch.setattr(clients, "peer_of", lambda connection: stranger)
    monkeypatch.setattr(clients, "groups_of", lambda connection, peer: frozenset({4321}))
    with running.client() as client:
        assert client.ask("list")["programs"] == []  # it is the test's own user's
        with pytest.raises(UsageError, match="not a program of yours"):
            client.ask("limit", program=os.getpid(), fps=5)
        for op in ({"op": "policy", "policies": []}, {"op": "config", "reload": True}, {"op": "log"}):
            with pytest.raises(UnavailableError, match="administrators"):
                client.ask(**op)
    monkeypatch.setattr(clients, "groups_of", lambda connection, peer: frozenset({0, 4321}))
    with running.client() as client:
        answer = client.ask("limit", program=os.getpid(), fps=5)
        assert answer["programs"][0]["limit"]["reason"] == f"user {stranger.uid} said so"
        with pytest.raises(UnavailableError, match="own user"):
            client.ask("trace", program=os.getpid())
    assert program.interval_ns == 200 * MS


def test_it_says_which_alarms_are_on(start):
    from drawtap.live.alarm import ALARMS

    [said] = start().events("alarms")
    assert set(said["on"]) == set(ALARMS.names()) and said["because"] == "none is configured: all are on"
    [said] = start({"alarm": [{"rule": "hitch"}]}).events("alarms")
    assert (said["on"], said["because"]) == (["hitch"], "the configuration")
    [said] = start({"alarm": []}).events("alarms")
    assert said["on"] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize("groups", [(), (0,)])
def test_another_user_does_what_the_kernel_says_it_may(start, groups):
    """Not a pretended one: a process whose user and groups are those, as the kernel tells the manager."""
    running = start({"manager": {"admin_group": grp.getgrgid(0).gr_name}})
    program = running.program()
    program.show(10, 10 * MS)
    with running.client() as own:
        wait_for(lambda: own.ask("list")["programs"], "the program")
    running.folder.path.chmod(0o755)  # as a manager of the whole system has it
    running.folder.clients.chmod(0o666)
    requests = [{"op": "hello"}, {"op": "list"}, {"op": "limit", "program": os.getpid(), "fps": 5}]
    hello, listed, limited = _asked_as(NOBODY, groups, running.folder.clients, requests)
    assert hello["ok"] is True
    if groups:
        (known,) = listed["programs"]
        assert known["pid"] == os.getpid()
        assert limited["programs"][0]["limit"]["reason"] == f"user {NOBODY} said so"
        assert program.interval_ns == 200 * MS
    else:
        assert listed["programs"] == []
        assert limited["ok"] is False and "not a program of yours" in json.dumps(limited)


NOBODY = 65534


def _asked_as(user: int, groups: tuple[int, ...], path: Path, requests: list[dict[str, object]]) -> list[Any]:
    """Ask the manager as a user and return its answers."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            os.chdir(path.parent)  # the folders above are the test's own
            os.setgroups(groups)
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            with socket.socket(socket.AF_UNIX) as made:
                made.connect(path.name)
                made.settimeout(PATIENCE_S)
                heard = made.makefile("rb")
                for request in requests:
                    made.sendall(json.dumps(request).encode() + b"\n")
                    os.write(writing, heard.readline())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        found = [json.loads(line) for line in answers]
    os.waitpid(child, 0)
    return found
