"""Reads MATPOWER case files of version 1 and 2: what they assign, and whether it is what an optimal power flow needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pdual.dsl.diagnostics import Collector, Refusal, refuse
from pdual.dsl.spans import Span
from pdual.packs.power.cases.costs import read_costs
from pdual.packs.power.cases.statements import File, carry_out
from pdual.packs.power.cases.tables import BranchRow, BusRow, Case, Cost, UnitRow, enumerated, named
from pdual.packs.power.cases.tokens import Unreadable
from pdual.packs.power.cases.values import Cells, Value

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

# What a function of version 1 returns, in this order.
_RESULTS = ("baseMVA", "bus", "gen", "branch", "areas", "gencost")
# Names, places and records of a solution: the optimum does not depend on them.
_WITHOUT_EFFECT = {
    "version", "areas", "bus_name", "gen_name", "branch_name", "gentype", "genfuel", "bus_loc", "name", "casename", "case",
    "source", "source_version", "info", "notes", "description", "f", "et", "success", "iterations", "date", "time",
}  # fmt: skip
_SAVE = "save the finished case with MATPOWER's `savecase` and name that file"
_OLD_GEN = 21  # columns of `gen` that a case without a version has from version 2 on
_WITH_ANGLES = 13  # columns of `branch`


def read_matpower(place: Path, name: str, span: Span) -> Case:
    """The case in a ``.m`` file, every entry checked to be the number it should be.

    Raises PD502 (a statement that is no data, with its line), PD503 (missing matrix), PD504 (too few columns), PD505 (not a
    number), PD521 (a table that changes the optimum and is not modelled), and what ``read_costs`` raises.
    """
    try:
        file = carry_out(_text_of(place, name, span))
    except Unreadable as error:
        raise refuse("PD502", span, file=name, reason=str(error), fix=_SAVE) from None
    fields = _fields(file)
    base, tables = _matrices(fields, name, span)
    _refuse_others(fields, name, span)
    _check_widths(tables, name, span)
    _check_numbers(tables, base, name, span)
    _settle_version(fields.get("version"), tables, name, span)
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
        return place.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise refuse("PD502", span, file=name, reason=error.strerror or "it cannot be opened") from None


def _fields(file: File) -> dict[str, Value]:
    """The case by field: those of the struct that the function returns, or the several results of version 1."""
    values = file.values
    if len(file.outputs) > 3 or (not file.outputs and "bus" in values):
        results = dict(zip(_RESULTS, file.outputs, strict=False)) if file.outputs else {name: name for name in _RESULTS}
        if len(file.outputs) == 5:  # the areas may be left out
            results["gencost"] = results.pop("areas")
        return {"version": "1"} | {field: values[name] for field, name in results.items() if name in values}
    structs = (name.removesuffix(".bus") for name in values if name.endswith(".bus"))
    start = f"{file.outputs[0] if file.outputs else next(structs, 'mpc')}."
    return {name.removeprefix(start): value for name, value in values.items() if name.startswith(start)}


def _matrices(fields: dict[str, Value], name: str, span: Span) -> tuple[Any, dict[str, _Table]]:
    missing = [matrix for matrix in ("baseMVA", *_COLUMNS) if matrix not in fields]
    if missing:
        raise refuse("PD503", span, file=name, tables=enumerated(missing))
    base = fields["baseMVA"]
    if isinstance(base, list) and [len(row) for row in base] == [1]:
        base = base[0][0]
    tables: dict[str, _Table] = {}
    for matrix in _COLUMNS:
        value = fields[matrix]
        if isinstance(value, str | Cells):
            raise refuse("PD505", span, file=name, expected=f"numbers in `{matrix}`", found="texts", count=1)
        tables[matrix] = value if isinstance(value, list) else [[value]]
    empty = [matrix for matrix, rows in tables.items() if not rows and matrix in ("bus", "gen")]
    if empty:
        raise refuse("PD503", span, file=name, tables=f"rows in {enumerated(empty)}")
    return base, tables


def _refuse_others(fields: dict[str, Value], name: str, span: Span) -> None:
    """Tables that nothing here reads, except where they hold nothing, words, or what has no effect."""
    found = [
        field
        for field, value in fields.items()
        if field not in ("baseMVA", *_COLUMNS) and field not in _WITHOUT_EFFECT and _has_numbers(field, value)
    ]
    if found:
        raise refuse("PD521", span, file=name, tables=enumerated(found), pronoun="it" if len(found) == 1 else "them")


def _has_numbers(field: str, value: Value) -> bool:
    if field == "dcline" and isinstance(value, list):
        return any(len(row) < 3 or row[2] for row in value)  # the third column is its status
    return not isinstance(value, str) and any(not isinstance(entry, str) for entry in _entries(value))


def _entries(value: Value) -> Iterator[Value]:
    if isinstance(value, Cells):
        for entry in value.entries:
            yield from _entries(entry)
    elif isinstance(value, list):
        yield from (entry for row in value for entry in row)
    else:
        yield value


def _settle_version(version: Value | None, tables: dict[str, _Table], name: str, span: Span) -> None:
    """In version 1, `branch` has results where version 2 has angle limits; as many columns as those need are limits."""
    wide = any(len(row) >= _OLD_GEN for row in tables["gen"])
    version = ("2" if wide else "1") if version is None else version
    version = f"{version:g}" if isinstance(version, float) else version
    if version not in ("1", "2"):
        reason = f"its version is {version}, and 1 and 2 are known"
        raise refuse("PD502", span, file=name, reason=reason, fix=_SAVE)
    if version == "1" and any(len(row) > _WITH_ANGLES for row in tables["branch"]):
        tables["branch"] = [row[: _WIDTH["branch"]] for row in tables["branch"]]


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
    for table in ("bus", "gen", "branch"):  # a row of gencost says itself how many of its entries count
        for number, row in enumerate(tables[table], 1):
            if len(row) != (first := len(tables[table][0])):
                # a blank inside a number or a lost sign shifts all that follows
                reason = f"row {number} of `{table}` has {len(row)} entries, its first row has {first}"
                raise refuse("PD502", span, file=name, reason=reason)


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
    p, q, g, b = map(float, row[2:6])
    v, angle = _point(row[7:9], 1.0)
    return BusRow(int(row[0]), int(row[1]), p, q, g, b, float(row[11]), float(row[12]), v, angle)


def _unit(position: int, row: Sequence[float], cost: Cost) -> UnitRow:
    p, q = _point(row[1:3], 0.0)
    limits = (float(row[3]), float(row[4]), float(row[8]), float(row[9]))
    return UnitRow(position, int(row[0]), row[7] > 0, *limits, cost, p, q)


def _point(values: Sequence[float], usual: float) -> tuple[float, float]:
    """Two numbers of an operating point; the usual one and 0 where they are none, since nothing but a start depends on them."""
    first, second = (float(value) for value in values)
    return (first, second) if math.isfinite(first) and math.isfinite(second) else (usual, 0.0)


def _branch(row: Sequence[float]) -> BranchRow:
    angles = row[11:13] if len(row) > 12 else (0.0, 0.0)
    return BranchRow(int(row[0]), int(row[1]), row[10] > 0, *map(float, (*row[2:6], *row[8:10], *angles)))
