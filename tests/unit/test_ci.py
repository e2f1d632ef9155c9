"""Verdicts for continuous integration hold to the schemas of JUnit and SARIF, whatever a recording is called."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import jsonschema

from drawtap.output import ci
from drawtap.output.ci import Case

CASES = [
    Case(
        "a" * 64,
        "map <b>.dtap",
        "differs",
        "failed",
        "2 of 9 frames",
        4,
        62,
        "glDrawArrays",
        "drawtap corpus verdict a",
    ),
    Case("b" * 64, "b\x07\ud800.dtap", "crash", "failed", "SIGSEGV", None, 7, None),
    Case("c" * 64, "c.dtap", "flaky", "warned", "jitter", 1),
    Case("d" * 64, "d.dtap", "unknown", "open"),
    Case("e" * 64, "e.dtap", "same", "passed"),
    Case("f" * 64, "f.dtap", "differs", "failed", "1 of 9 frames", 0, 3, "glClear"),
]
# Of the schema of SARIF 2.1.0: the objects that are used, with the properties that are required and the values allowed.
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LOCATION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "physicalLocation": {
            "required": ["artifactLocation"],
            "properties": {"artifactLocation": {"properties": {"uri": {"pattern": "^[0-9a-f]{64}\\.dtap$"}}}},
        },
        "logicalLocations": {"items": {"required": ["fullyQualifiedName", "kind"]}},
    },
}
RESULT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["message", "ruleId", "locations", "partialFingerprints"],
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "kind": {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": TEXT,
        "locations": {"type": "array", "items": LOCATION, "maxItems": 1},
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
    },
    # A result that is no failure has no severity.
    "if": {"properties": {"kind": {"const": "fail"}}},
    "then": {"properties": {"level": {"enum": ["warning", "error"]}}},
    "else": {"properties": {"level": {"const": "none"}}},
}
DRIVER = {"required": ["name", "rules"], "properties": {"rules": {"items": {"required": ["id"]}, "uniqueItems": True}}}
RUN = {
    "required": ["tool", "results"],
    "properties": {
        "tool": {"required": ["driver"], "properties": {"driver": DRIVER}},
        "results": {"type": "array", "items": RESULT},
        "automationDetails": {"required": ["id"]},
    },
}
LOG = {
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "$schema": {"pattern": "sarif-schema-2.1.0.json$"},
        "runs": {"type": "array", "items": RUN, "minItems": 1},
    },
}


def test_sarif_holds_to_its_schema() -> None:
    log = json.loads(ci.sarif(CASES, "images", "mesa-26.1"))
    jsonschema.Draft7Validator(LOG).validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])
    first = run["results"][0]
    assert first["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "frame 4/call 62 glDrawArrays"
    prints = [one["partialFingerprints"]["drawtap/v1"] for one in run["results"]]
    assert len(set(prints)) == len(CASES)
    # Another night the same finding has the same fingerprint, also with another call.
    again = json.loads(ci.sarif([CASES[5], CASES[0]], "images", "mesa-26.1"))["runs"][0]["results"]
    assert [one["partialFingerprints"]["drawtap/v1"] for one in again] == [prints[5], prints[0]]


def test_junit_holds_to_its_schema() -> None:
    text = ci.junit(CASES, "images", "mesa-26.1")
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    (suite,) = root
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6", "failures": "3", "errors": "0", "skipped": "1",
    }  # fmt: skip
    names = set()
    for case in suite:
        assert case.tag == "testcase"
        assert set(case.attrib) == {"name", "classname"}
        names.add(case.get("name"))
        (said,) = case
        assert said.tag in ("failure", "skipped", "system-out")
        assert set(said.attrib) == ({"type", "message"} if said.tag == "failure" else set())
        assert said.text
    assert len(names) == len(CASES)
    assert suite[0][0].get("message") == "differs: 2 of 9 frames; call 62 glDrawArrays"
    assert suite[0][0].text.endswith("drawtap corpus verdict a")
