"""Records of workflow-task pairs, one JSON object a line, as rows: every text, every graph held once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from pdual.dsl.diagnostics import refuse
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.packs.workflows.sources.files import Found, lines_of

KEYS = ("nodes", "edge_index", "task", "label", "workflow_id", "task_id")
_LARGEST = 2**63 - 1
_LONGEST = 40  # of a value that a diagnostic shows

#: The texts of the nodes, as positions, and the edges, as pairs of positions among the nodes.
Graph: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]


class Misfit(Exception):  # noqa: N818 - the reader's own word for what a line holds in another's place
    """A line does not hold what it should."""

    def __init__(self, expected: str, found: object, near: str | None = None) -> None:
        super().__init__(expected)
        self.expected, self.found, self.near = expected, found, near


@dataclass(frozen=True, slots=True)
class Records:
    """What the files hold. ``graph`` and ``question`` are positions in ``graphs`` and ``texts``, one a row.

    ``sizes``: rows of each split, which follow each other. ``dropped``: records without nodes. ``unread``: keys of no use.
    ``digest``: of the unpacked content.
    """

    texts: Sequence[str]
    graphs: Sequence[Graph]
    graph: Sequence[int]
    question: Sequence[int]
    workflow: Sequence[int]
    task: Sequence[int]
    solved: Sequence[bool]
    sizes: Mapping[str, int]
    dropped: int
    unread: Sequence[str]
    digest: str


def read_records(spec_file: Found, span: Span) -> Records:
    """The rows of all splits.

    Raises PD533 (a file cannot be read), PD543 (a line is no such record), PD536 (``train`` has none).
    """
    reader = _Reader()
    sizes: dict[str, int] = {}
    for split, files in spec_file.splits.items():
        before = len(reader.solved)
        reader.content.update(split.encode())
        for file in files:
            _read(file, reader, span)
        sizes[split] = len(reader.solved) - before
    if not sizes["train"]:
        raise refuse("PD536", span, file=spec_file.splits["train"][0], found=0, needed=1)
    return Records(
        list(reader.texts), list(reader.graphs), reader.graph, reader.question, reader.workflow, reader.task,
        reader.solved, sizes, reader.dropped, sorted(reader.unread), reader.content.hexdigest()[:24],
    )  # fmt: skip


def _read(file: Path, reader: _Reader, span: Span) -> None:
    for number, line in enumerate(lines_of(file, span), 1):
        reader.content.update(line)
        if not line.strip():
            continue
        try:
            reader.add(_object(line))
        except Misfit as misfit:
            raise refuse(
                "PD543", span, line=number, file=file, expected=misfit.expected, found=_shown(misfit.found),
                near=misfit.near,
            ) from None  # fmt: skip


class _Reader:
    """Collects records; a dictionary's keys are the distinct texts, or graphs, in the order in which they came."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.graphs: dict[Graph, int] = {}
        self.graph: list[int] = []
        self.question: list[int] = []
        self.workflow: list[int] = []
        self.task: list[int] = []
        self.solved: list[bool] = []
        self.dropped = 0
        self.unread: set[str] = set()
        self.content = hashlib.sha256()

    def add(self, record: Mapping[str, Any]) -> None:
        """One record; it is checked as a whole before anything of it is kept."""
        if len(record) > len(KEYS) or not set(KEYS).issuperset(record):
            self.unread.update(set(record) - set(KEYS))
        nodes = _nodes(_value(record, "nodes"))
        edges = _edges(_value(record, "edge_index"), len(nodes))
        task = _text(_value(record, "task"), "a text as `task`")
        solved = _truth(_value(record, "label"))
        ids = [_whole(_value(record, key), key) for key in ("workflow_id", "task_id")]
        if not nodes:
            self.dropped += 1
            return
        graph = tuple(self._text(node) for node in nodes), edges
        self.graph.append(self.graphs.setdefault(graph, len(self.graphs)))
        self.question.append(self._text(task))
        self.workflow.append(ids[0])
        self.task.append(ids[1])
        self.solved.append(solved)

    def _text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise Misfit("a JSON object", line.decode(errors="replace").strip()) from None
    if not isinstance(record, dict):
        raise Misfit("a JSON object", record)
    return record


def _value(record: Mapping[str, Any], key: str) -> Any:
    if key not in record:
        there = ", ".join(f"`{name}`" for name in record) or "no keys"
        raise Misfit(f"`{key}`", _Words(there), nearest(key, [name for name in record if name not in KEYS]))
    return record[key]


def _nodes(value: Any) -> Sequence[str]:
    if not isinstance(value, dict):
        raise Misfit("an object with the text of every node as `nodes`", value)
    return [_text(text, f"a text as node `{key}`") for key, text in value.items()]


def _edges(value: Any, nodes: int) -> tuple[tuple[int, int], ...]:
    """Pairs of positions; ``[]``, ``null`` and the two empty lists of a transposed form are no edges."""
    if value is None or value in ([], [[], []]):
        return ()
    if not isinstance(value, list):
        _no_edge(value, nodes)
    return tuple(_edge(pair, nodes) for pair in value)


def _edge(pair: Any, nodes: int) -> tuple[int, int]:
    if not isinstance(pair, list) or len(pair) != 2:
        _no_edge(pair, nodes)
    source, target = pair
    if type(source) is not int or type(target) is not int or not (0 <= source < nodes and 0 <= target < nodes):
        _no_edge(pair, nodes)
    return source, target


def _no_edge(found: Any, nodes: int) -> NoReturn:
    last = f"0 to {nodes - 1}" if nodes else "of which there are none"
    raise Misfit(f"pairs of nodes, {last}, as `edge_index`", found)


def _text(value: Any, expected: str) -> str:
    if not isinstance(value, str):
        raise Misfit(expected, value)
    return value


def _truth(value: Any) -> bool:
    if isinstance(value, bool | int | float) and value in (0, 1):
        return bool(value)
    raise Misfit("0, 1, `true` or `false` as `label`", value)


def _whole(value: Any, key: str) -> int:
    if type(value) is not int or abs(value) > _LARGEST:
        raise Misfit(f"a whole number as `{key}`", value)
    return value


class _Words(str):
    """What is shown as it is, not as a value."""


def _shown(value: object) -> str:
    if isinstance(value, _Words):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    text = text.replace("`", "'").replace("\n", " ")
    return f"`{text}`" if 0 < len(text) <= _LONGEST else f"`{text[: _LONGEST - 3]}...`" if text else "an empty text"
