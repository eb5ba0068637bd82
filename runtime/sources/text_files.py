"""Columns of text files: separated values and JSON lines. Errors name the line."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pdual.runtime.sources import scalars

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_LINE_END = re.compile(r"\r\n|\r|\n")
_SHOWN = 40

csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # a text may be as long as a book


def text_of(path: Path) -> str:
    """What a file says, in UTF-8 or, with a mark that says so, UTF-16. Raises ValueError with the line of what is neither."""
    content = path.read_bytes()
    coding = next((name for mark, name in _MARKS if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(coding)
    except UnicodeDecodeError as error:
        if coding != "utf-8":
            line = _line_at(content[: error.start].decode(coding, "replace"))
            raise ValueError(
                f"line {line} is not {coding.removesuffix('-sig').upper()}, which its first bytes say it is"
            ) from None
        line = len((content[: error.start] + b".").splitlines())
        around = content[max(0, error.start - 12) : error.start + 12].decode("cp1252", "replace").split()
        near = next((word for word in around if not word.isascii()), "")
        looks = f"; read as Windows-1252 it says `{near}`" if near else ""
        raise ValueError(f"line {line} is not UTF-8{looks}: save the file as UTF-8") from None
    if "\0" in text:
        raise ValueError(
            f"line {_line_at(text[: text.index(chr(0))])} holds a zero byte: it is no text, or UTF-16 without a mark"
        )
    return text


def _line_at(before: str) -> int:
    return len(_LINE_END.findall(before)) + 1


def separated(path: Path) -> Mapping[str, Sequence[str]]:
    """The columns of a csv or tsv file, cell by cell as written; lines that begin with ``#`` before the head are left out, as are columns
    without a name. Raises ValueError for what may be a value that is missing or one that was cut in two.
    """
    text = text_of(path)
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    records = _records(text, separator)
    number, header = next(((n, row) for n, row in records if row and not row[0].lstrip().startswith("#")), (0, None))
    if header is None:
        raise ValueError("it is empty")
    _check_header(header, number, separator, skipped=number > 1 and text.lstrip().startswith("#"))
    last = max((place for place, name in enumerate(header, 1) if name.strip()), default=0)
    rows: list[list[str]] = []
    blank = None
    for number, row in records:
        if not row:
            blank = blank or number
            continue
        if blank is not None and len(header) == 1:
            raise ValueError(f'line {blank} is blank: write `""` if a value is missing there, else delete the line')
        if len(row) != len(header):
            raise ValueError(f"line {number} has {len(row)} values, the header has {len(header)}")
        if any(cell.strip() for cell in row[last:]):
            raise ValueError(f"line {number} has a value in a column without a name, behind the last that has one")
        rows.append(row)
    names = [name.strip() for name in header]
    doubled = next((name for name in names if name and names.count(name) > 1), None)
    if doubled is not None:
        raise ValueError(f"its header names `{doubled}` twice")
    return {name: [row[place] for row in rows] for place, name in enumerate(names) if name}


def _records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Every record, with the line that it starts on; a blank line is an empty one."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    before = 0
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise ValueError(f"line {before + 1}: {error}") from None
        if row is None:
            return
        yield before + 1, row
        before = reader.line_num


def _check_header(header: Sequence[str], number: int, separator: str, skipped: bool) -> None:
    """Raises ValueError where another separator was meant, or names are missing."""
    if len(header) == 1:
        other = next((sign for sign in ",;\t|" if sign != separator and sign in header[0]), None)
        if other is not None:
            used, wanted = (repr(sign)[1:-1] for sign in (other, separator))
            named = " (or name it .tsv)" if other == "\t" else ""
            raise ValueError(
                f"line {number} is one column, `{header[0][:_SHOWN]}`: separate columns by `{wanted}`, not `{used}`{named}"
            )
    if skipped and all(scalars.number(name) is not None for name in header):
        raise ValueError(f"line {number} should name the columns; the lines before it are comments")


def json_lines(path: Path) -> Mapping[str, Sequence[Any]]:
    """The columns of a file with one JSON object a line: every key of any line, None in lines without it."""
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(io.StringIO(text_of(path), newline=None), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {number}: {str(error) or 'it is nested too deep'}") from None
        if not isinstance(row, dict):
            raise ValueError(f"line {number} should be a JSON object")
        rows.append(row)
    if not rows:
        raise ValueError("it has no rows: every line should be a JSON object")
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"`{next(name for name in names if names.count(name) > 1)}` stands twice")
    return found
