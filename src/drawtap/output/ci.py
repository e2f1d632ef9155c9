"""Judgements of recordings in the forms that continuous integration reads: JUnit's XML and SARIF 2.1.0."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

import drawtap

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # characters that XML has not


@dataclass(frozen=True)
class Case:
    """A recording that was judged: `state` is passed, failed, open (nobody knows) or warned.

    `call` is the draw or the call that is to blame, `command` repeats the judgement.
    """

    trace: str
    file: str
    label: str
    state: str
    detail: str = ""
    frame: int | None = None
    call: int | None = None
    function: str | None = None
    command: str = ""

    def sentence(self) -> str:
        """Return what happened, in a line."""
        where = "" if self.call is None else f"; call {self.call} {self.function or ''}".rstrip()
        return f"{self.label}: {self.detail}{where}" if self.detail else f"{self.label}{where}"


def junit(cases: Sequence[Case], kind: str, build: str) -> str:
    """Return a test suite `drawtap.KIND` of one test case a recording. Open cases are skipped ones."""
    count = {state: str(sum(case.state == state for case in cases)) for state in ("failed", "open")}
    numbers = {"tests": str(len(cases)), "failures": count["failed"], "errors": "0", "skipped": count["open"]}
    root = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(root, "testsuite", {"name": plain(f"drawtap.{kind} {build}"), **numbers})
    for case in cases:
        names = {"name": plain(f"{case.file} {case.trace[:12]}"), "classname": plain(f"drawtap.{kind}.{build}")}
        one = ElementTree.SubElement(suite, "testcase", names)
        text = plain("\n".join(filter(None, (case.sentence(), case.command))))
        if case.state == "failed":
            said = {"type": case.label, "message": plain(case.sentence())}
            ElementTree.SubElement(one, "failure", said).text = text
        elif case.state == "open":
            ElementTree.SubElement(one, "skipped").text = text
        else:
            ElementTree.SubElement(one, "system-out").text = text
    return xml(root)


def xml(root: ElementTree.Element) -> str:
    """Return a document of XML."""
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"


def plain(text: str) -> str:
    """Return a text without characters that XML has no way to write: strings from programs may hold them."""
    return _FORBIDDEN.sub("\ufffd", text)


_LEVELS = {
    "failed": ("fail", "error"),
    "warned": ("fail", "warning"),
    "open": ("open", "none"),
    "passed": ("pass", "none"),
}


def sarif(cases: Sequence[Case], kind: str, build: str) -> str:
    """Return a log with one run: a result a recording, a rule a label.

    A recording stands as the file ID.dtap, the call to blame as a logical location in there. Fingerprints tell the same
    finding in another run.
    """
    labels = sorted({case.label for case in cases})
    rules = [{"id": f"{kind}/{label}", "shortDescription": {"text": f"{kind}: {label}"}} for label in labels]
    driver = {"name": "drawtap", "version": drawtap.__version__, "rules": rules}
    results = [_result(case, kind, build, labels.index(case.label)) for case in cases]
    run = {"tool": {"driver": driver}, "automationDetails": {"id": f"drawtap/{kind}/{build}/"}, "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(case: Case, kind: str, build: str, index: int) -> dict[str, object]:
    known, level = _LEVELS[case.state]
    place: dict[str, object] = {"physicalLocation": {"artifactLocation": {"uri": f"{case.trace}.dtap"}}}
    if case.call is not None:
        called = case.function or "call"
        qualified = (
            f"frame {case.frame}/call {case.call} {called}" if case.frame is not None else f"call {case.call} {called}"
        )
        place["logicalLocations"] = [{"name": called, "fullyQualifiedName": qualified, "kind": "function"}]
    print_ = hashlib.sha256(f"{kind}\n{build}\n{case.trace}\n{case.label}".encode()).hexdigest()
    return {
        "ruleId": f"{kind}/{case.label}",
        "ruleIndex": index,
        "kind": known,
        "level": level,
        "message": {"text": f"{case.file} on {build}: {case.sentence()}"},
        "locations": [place],
        "partialFingerprints": {"drawtap/v1": print_},
        "properties": {"trace": case.trace, "frame": case.frame, "call": case.call, "repeat": case.command},
    }
