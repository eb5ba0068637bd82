"""Positions in the tests' texts, counted on their own: UTF-16 units, by encoding what stands before on the line."""

from __future__ import annotations

from typing import Any


def place(text: str, word: str, occurrence: int = 0) -> dict[str, int]:
    """Where a word starts, the first time or a later one."""
    start = -1
    for _ in range(occurrence + 1):
        start = text.index(word, start + 1)
    return at(text, start)


def at(text: str, offset: int) -> dict[str, int]:
    lines = text[:offset].split("\n")
    return {"line": len(lines) - 1, "character": len(lines[-1].encode("utf-16-le")) // 2}


def ends(text: str, word: str, occurrence: int = 0) -> dict[str, Any]:
    """The range of a word on one line."""
    start = place(text, word, occurrence)
    return {"start": start, "end": {**start, "character": start["character"] + len(word.encode("utf-16-le")) // 2}}


def taken(text: str, area: dict[str, Any]) -> str:
    """The text of a range; asserts that both of its ends are in the text, and in order."""
    lines = text.split("\n")
    offsets = []
    for end in (area["start"], area["end"]):
        assert 0 <= end["line"] < len(lines)
        encoded = lines[end["line"]].encode("utf-16-le")
        assert 0 <= end["character"] <= len(encoded) // 2
        before = encoded[: 2 * end["character"]].decode("utf-16-le")
        offsets.append(sum(len(line) + 1 for line in lines[: end["line"]]) + len(before))
    assert offsets[0] <= offsets[1]
    return text[offsets[0] : offsets[1]]


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """A text after edits."""
    for edit in sorted(edits, key=lambda item: (-item["range"]["start"]["line"], -item["range"]["start"]["character"])):
        old = taken(text, edit["range"])
        lines = text.split("\n")
        start = edit["range"]["start"]
        before = sum(len(line) + 1 for line in lines[: start["line"]])
        before += len(lines[start["line"]].encode("utf-16-le")[: 2 * start["character"]].decode("utf-16-le"))
        text = text[:before] + edit["newText"] + text[before + len(old) :]
    return text
