"""The records of a split of TOFU: an object a line, except for ``idontknow``, which has a text a line."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from pdual.dsl.diagnostics import refuse
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.packs.language.sources.files import Found

Record: TypeAlias = Mapping[str, Any]

#: The split that is no JSON, in spite of its name.
PLAIN = "idontknow"


def read_records(spec_file: Found, span: Span) -> Sequence[tuple[int, Record]]:
    """Every record with the number of its line. Raises PD533 (no UTF-8, no rows), PD543 (a line that is no object)."""
    try:
        text = spec_file.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refuse("PD533", span, file=spec_file.place, reason=error) from None
    # Not splitlines: a text may hold separators of its own.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise refuse("PD533", span, file=spec_file.place, reason="it has no rows")
    if spec_file.name == PLAIN:
        return [(number, {"answer": line.strip()}) for number, line in lines]
    return [(number, _record(number, line, spec_file, span)) for number, line in lines]


def text_of(record: Record, line: int, key: str, spec_file: Found, span: Span) -> str:
    """One text of a record. Raises PD543."""
    value = record.get(key)
    if isinstance(value, str):
        return value
    shown = f"`{json.dumps(value)[:40]}`" if key in record else "no such key"
    near = None if key in record else nearest(key, [name for name in record if isinstance(name, str)])
    raise refuse(
        "PD543", span, line=line, file=spec_file.place, expected=f"a text as `{key}`", found=shown, near=near
    )  # fmt: skip


def _record(number: int, line: str, spec_file: Found, span: Span) -> Record:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        shown = line.strip()[:40]
        raise refuse("PD543", span, line=number, file=spec_file.place, expected="a JSON object", found=f"`{shown}`")
    return record
