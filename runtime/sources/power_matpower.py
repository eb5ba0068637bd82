"""Reads MATPOWER case files (version 2): the matrices by ``matpowercaseframes``, the checks by itself."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matpowercaseframes.reader import parse_file

from pdual.dsl.diagnostics import Collector, Refusal, refuse
from pdual.dsl.spans import Span
from pdual.runtime.sources.power_costs import read_costs
from pdual.runtime.sources.power_tables import BranchRow, BusRow, Case, UnitRow, enumerated, named

# The columns that an optimal power flow reads, by their position in the format.
_COLUMNS = {
    "bus": {0: "bus_i", 1: "type", 2: "Pd", 3: "Qd", 4: "Gs", 5: "Bs", 11: "Vmax", 12: "Vmin"},
    "gen": {0: "bus", 3: "Qmax", 4: "Qmin", 7: "status", 8: "Pmax", 9: "Pmin"},
    "branch": {0: "fbus", 1: "tbus", 2: "r", 3: "x", 4: "b", 5: "rateA", 8: "ratio", 9: "angle", 10: "status"}
    | {11: "angmin", 12: "angmax"},
    "gencost": {0: "model", 3: "n"},
}
_WIDTH = {"bus": 13, "gen": 10, "branch": 11, "gencost": 4}  # angmin and angmax came later and may be absent
_MAY_BE_INFINITE = {"Qmax", "Qmin", "Pmax", "Pmin", "rateA", "angmin", "angmax"}
_WHOLE = {"bus_i", "bus", "fbus", "tbus", "type", "model", "n"}

_Table = list[list[Any]]


def read_matpower(place: Path, name: str, span: Span) -> Case:
    """The case in a ``.m`` file, every entry checked to be the number it should be.

    Raises PD502 (unreadable), PD503 (missing matrix), PD504 (too few columns), PD505 (not a number), and what
    ``read_costs`` raises.
    """
    text = _normalised(_text_of(place, name, span))
    _refuse_code(text, name, span)
    base, tables = _matrices(text, name, span)
    _check_widths(tables, name, span)
    _check_numbers(tables, base, name, span)
    costs = read_costs(tables["gen"], tables["gencost"], name, span)
    return Case(
        name,
        float(base),
        tuple(_bus(row) for row in tables["bus"]),
        tuple(_unit(position, row, costs[position - 1]) for position, row in enumerate(tables["gen"], 1)),
        tuple(_branch(row) for row in tables["branch"]),
    )


def _text_of(place: Path, name: str, span: Span) -> str:
    try:
        return place.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise refuse("PD502", span, file=name, reason=error.strerror or "it cannot be opened") from None


def _normalised(text: str) -> str:
    """The spelling that the reader knows: one row a line, blanks between numbers, ``];`` after a matrix."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"%[^\n]*", "", text)
    text = re.sub(r"\.\.\.[^\n]*\n", " ", text)
    text = text.replace(",", " ").replace(";", ";\n")
    return re.sub(r"\s*\]\s*;?", "\n];\n", text)


def _refuse_code(text: str, name: str, span: Span) -> None:
    if computed := re.search(r"mpc\.(bus|gen|branch|gencost)\s*\(", text):
        raise refuse(
            "PD502",
            span,
            file=name,
            reason=f"it computes `mpc.{computed[1]}` by code, and code is not run",
            fix="save the finished case with MATPOWER's `savecase` and name that file",
        )


def _matrices(text: str, name: str, span: Span) -> tuple[Any, dict[str, _Table]]:
    found = {matrix: parse_file(matrix, text) for matrix in ("baseMVA", *_COLUMNS)}
    missing = [matrix for matrix, rows in found.items() if rows is None]
    if missing:
        raise refuse("PD503", span, file=name, tables=enumerated(missing))
    empty = [matrix for matrix, rows in found.items() if not rows and matrix != "gencost"]
    if empty:
        raise refuse("PD503", span, file=name, tables=f"rows in {enumerated(empty)}")
    tables: dict[str, _Table] = {matrix: found[matrix] for matrix in _COLUMNS}
    return found["baseMVA"][0][0], tables


def _check_widths(tables: dict[str, _Table], name: str, span: Span) -> None:
    found = Collector()
    for table, rows in tables.items():
        short = [number for number, row in enumerate(rows, 1) if len(row) < _WIDTH[table]]
        if short:
            found.add(
                "PD504",
                span,
                file=name,
                table=table,
                expected=_WIDTH[table],
                rows=named([str(number) for number in short], "row"),
                verb="has" if len(short) == 1 else "have",
                found=", ".join(str(len(rows[number - 1])) for number in short[:3]),
            )
    if found.diagnostics:
        raise Refusal(found.diagnostics)


def _check_numbers(tables: dict[str, _Table], base: Any, name: str, span: Span) -> None:
    found = Collector()
    if not isinstance(base, int | float) or not math.isfinite(base) or base <= 0:
        found.add("PD505", span, file=name, expected="a `baseMVA` above 0", found=f"`{base}`")
    for table, rows in tables.items():
        for kind, wrong in _wrong_entries(table, rows).items():
            expected, count = f"{kind} in `{table}`", len(wrong)
            found.add("PD505", span, file=name, expected=expected, found=enumerated(wrong), count=count)
    if found.diagnostics:
        raise Refusal(found.diagnostics)


def _wrong_entries(table: str, rows: _Table) -> dict[str, list[str]]:
    """By what was expected, the entries that are something else."""
    wrong: dict[str, list[str]] = {}
    for number, row in enumerate(rows, 1):
        columns = {column: title for column, title in _COLUMNS[table].items() if column < len(row)}
        if table == "gencost":
            columns |= {column: f"cost {column - 3}" for column in range(4, len(row))}
        for column, title in columns.items():
            if expected := _expectation(row[column], title):
                wrong.setdefault(expected, []).append(f"{title} = {row[column]} in row {number}")
    return wrong


def _expectation(value: Any, title: str) -> str | None:
    """What the entry should have been, None where it is that."""
    if not isinstance(value, int | float) or math.isnan(value):
        return "numbers"
    if math.isinf(value) and title not in _MAY_BE_INFINITE:
        return "finite numbers"
    if title in _WHOLE and value != int(value):
        return "whole numbers"
    return None


def _bus(row: Sequence[float]) -> BusRow:
    return BusRow(int(row[0]), int(row[1]), *map(float, (*row[2:6], *row[11:13])))


def _unit(position: int, row: Sequence[float], cost: tuple[float, float, float]) -> UnitRow:
    return UnitRow(position, int(row[0]), row[7] > 0, *map(float, (*row[3:5], *row[8:10], *cost)))


def _branch(row: Sequence[float]) -> BranchRow:
    angles = row[11:13] if len(row) > 12 else (0.0, 0.0)
    return BranchRow(int(row[0]), int(row[1]), row[10] > 0, *map(float, (*row[2:6], *row[8:10], *angles)))
