"""Diagnostics as SARIF 2.1.0 (OASIS), which code hosts and editors show beside the lines they are about."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.diagnostics import Diagnostic, Severity
from pdual.dsl.explanations import explain, heading
from pdual.dsl.printer import as_json
from pdual.dsl.spans import Source

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def log(checked: Sequence[tuple[str, Source | None, Sequence[Diagnostic]]]) -> dict[str, Any]:
    """One run over some specs: (as named on the command line, its text where it could be read, what was found)."""
    from pdual import __version__

    codes = sorted({item.code for _, _, found in checked for item in found})
    results = [_result(item, name, source, codes) for name, source, found in checked for item in found]
    rules = [_rule(code) for code in codes]
    driver = {"name": "pdual", "semanticVersion": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    level = _level(code)
    return {
        "id": code,
        "shortDescription": {"text": heading(code)},
        "fullDescription": {"text": explain(code).reason},
        "defaultConfiguration": {"level": level},
    }


def _level(code: str) -> str:
    return "error" if CATALOGUE[code].severity is Severity.ERROR else "warning"


def _result(item: Diagnostic, name: str, source: Source | None, codes: Sequence[str]) -> dict[str, Any]:
    told = as_json(item, source)
    said = [told["message"], *told["notes"], *([f"help: {told['help']}"] if told["help"] else [])]
    artifact = {"uri": PurePath(name).as_posix()}
    result: dict[str, Any] = {
        "ruleId": item.code,
        "ruleIndex": codes.index(item.code),
        "level": _level(item.code),
        "message": {"text": "\n".join(said)},
        "locations": [_location(artifact, told, told["label"])],
    }
    related = [_location(artifact, label, label["message"]) for label in told["labels"]]
    if related:
        result["relatedLocations"] = related
    if told["fix"]:
        change = {"deletedRegion": _region(told["fix"]), "insertedContent": {"text": told["fix"]["text"]}}
        fix = {"artifactChanges": [{"artifactLocation": artifact, "replacements": [change]}]}
        result["fixes"] = [{"description": {"text": told["help"] or told["message"]}, **fix}]
    return result


def _location(artifact: dict[str, str], told: dict[str, Any], text: str) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": artifact}
    if told["start"] is not None:
        place["region"] = _region(told)
    return {"physicalLocation": place, **({"message": {"text": text}} if text else {})}


def _region(told: dict[str, Any]) -> dict[str, int]:
    start, end = told["start"], told["end"]
    return {
        "startLine": start["line"],
        "startColumn": start["column"],
        "endLine": end["line"],
        "endColumn": end["column"],
    }
