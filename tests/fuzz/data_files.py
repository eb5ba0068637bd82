"""What readers of data make of any bytes: values that keep to what was declared or a Refusal, in a bounded time, and nothing else."""

from __future__ import annotations

import random
import time
import warnings
from pathlib import Path

import torch

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.printer import as_json, render_all
from pdual.dsl.spans import NOWHERE, Source
from pdual.dsl.typed import TypedField
from pdual.dsl.types import TEXT, ArrayType, FixedAxis, Kind, MemberOf, SetAxis
from pdual.dsl.visible import visible_lines
from pdual.packs.power.cases.checks import check_case
from pdual.packs.power.cases.matpower import read_matpower
from pdual.packs.power.optima.file import read_demands
from pdual.runtime.data.context import SourceContext
from pdual.runtime.sources.table import Fields, read_fields

#: Seconds of the processor that one file may take.
MOST = 2.0

SETS = {"level": ("low", "mid", "high"), "side": ("left", "right"), "digit": ("0", "1", "2")}
FIELDS = {
    field.name: field
    for field in (
        TypedField("x", ArrayType(Kind.REAL), 0.0, 1.0),
        TypedField("n", ArrayType(Kind.INT)),
        TypedField("k", ArrayType(Kind.ID)),
        TypedField("t", TEXT),
        TypedField("b", ArrayType(Kind.BOOL)),
        TypedField("c", ArrayType(MemberOf("level"))),
        TypedField("d", ArrayType(MemberOf("digit")), column="n"),
        TypedField("v", ArrayType(Kind.REAL, (FixedAxis(3),))),
        TypedField("m", ArrayType(Kind.REAL, (SetAxis("side"), FixedAxis(2)))),
        TypedField("w", ArrayType(Kind.INT, (FixedAxis(3),)), column="v"),
        TypedField("z", ArrayType(Kind.COMPLEX)),
        TypedField("i", ArrayType(Kind.ID), column="x"),
        TypedField("s", TEXT, column="k"),
        TypedField("y", ArrayType(Kind.REAL), column="t"),
    )
}
_DTYPES = {Kind.REAL: torch.float64, Kind.COMPLEX: torch.float64, Kind.BOOL: torch.bool}


def hold(kind: str, data: bytes, number: int, folder: Path) -> tuple[float, str | None]:
    """Assert what is promised of any bytes; the seconds that it took, and the code of the refusal if there was one."""
    path = folder / f"a.{kind}"
    path.write_bytes(data)
    code = None
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            if kind == "m":
                check_case(read_matpower(path, path.name, NOWHERE), NOWHERE)
            elif kind == "npz" and number % 8 == 0:
                read_demands(path.name, folder, 3, NOWHERE)
            else:
                _read(path, number)
        except Refusal as refusal:
            code = _refused(refusal)
    spent = time.process_time() - start
    assert spent < MOST, f"{spent:.1f} s"
    return spent, code


def _read(path: Path, number: int) -> None:
    """A few fields, some of which have to be there."""
    draw = random.Random(number)
    names = draw.sample(list(FIELDS), draw.choice((1, 1, 2, 4)))
    fields = {name: FIELDS[name] for name in names}
    context = SourceContext(fields=fields, sets=SETS)
    _check(read_fields(context, path, set(names[: draw.choice((1, 4))])), fields)


def _check(found: Fields, fields: dict[str, TypedField]) -> None:
    rows = {len(column) for column in (*found.columns.values(), *found.texts.values())}
    assert len(rows) == 1
    assert rows != {0}
    for part, column in found.columns.items():
        field = fields[part.partition(".")[0]]
        assert isinstance(field.type, ArrayType)
        sizes = [axis.size if isinstance(axis, FixedAxis) else 2 for axis in field.type.axes]
        assert list(column.shape[1:]) == sizes
        element = field.type.element
        assert column.dtype == (torch.int64 if isinstance(element, MemberOf) else _DTYPES.get(element, torch.int64))
        assert torch.isfinite(column).all()
        if isinstance(element, MemberOf):
            assert ((column >= 0) & (column < len(SETS[element.set]))).all()
        if field.low is not None and field.high is not None:
            assert ((column >= field.low) & (column <= field.high)).all()
    for texts in found.texts.values():
        assert all(isinstance(text, str) and text.encode() is not None for text in texts)


def _refused(refusal: Refusal) -> str:
    """Every diagnostic can be printed, and says nothing that a terminal would obey."""
    for item in refusal.diagnostics:
        assert item.code in CATALOGUE
        assert item.code != "PD999"
        as_json(item, Source("p.pdual", ""))
    said = render_all(refusal.diagnostics, Source("p.pdual", ""))
    assert visible_lines(said) == said
    assert len(said) < 20_000
    return refusal.diagnostics[0].code
