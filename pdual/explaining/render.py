"""An explanation as aligned text of at most ``WIDTH`` columns: sections of lines, styled apart from their wording."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pdual.explaining.records import (
    DataFact,
    Explanation,
    FieldFact,
    GivenFact,
    MeasuredFact,
    ModelFact,
    PartFact,
    StateFact,
    TimeFact,
)
from pdual.explaining.rows import unbounded
from pdual.explaining.text import between, bounds, duration, exact, number, size

WIDTH = 100
_INDENT = "  "


class Line(NamedTuple):
    """One line; ``heading`` lines start a section."""

    text: str
    heading: bool = False


def render(explanation: Explanation) -> list[Line]:
    """The whole explanation."""
    sections = (
        _problem(explanation),
        _params(explanation),
        _sets(explanation),
        *(_given(item) for item in explanation.givens),
        *(_data(item) for item in explanation.data),
        _models(explanation),
        _objective(explanation),
        _constraints(explanation),
        _normal_forms(explanation),
        _duals(explanation),
        _named("metrics", [(item.name, item.text) for item in explanation.metrics]),
        _named("expected after the run", [(item.name, item.text) for item in explanation.expects]),
        _named("solve", [(item.name, item.text) for item in explanation.solve]),
        _named("time", list(_time(explanation.time))),
    )
    lines: list[Line] = []
    for section in sections:
        body = list(section)
        if body:
            lines += [*([Line("")] if lines else []), *body]
    return lines


def _problem(explanation: Explanation) -> Iterator[Line]:
    yield from _wrapped(": ".join(filter(None, (explanation.problem, explanation.title))), indent="", heading=True)


def _params(explanation: Explanation) -> Iterator[Line]:
    rows = [
        (
            item.name,
            str(item.value) if isinstance(item.value, str) else exact(item.value),
            f"in {bounds(*item.range)}" if item.range is not None else "",
            f"(default {item.default})" if item.value != item.default else "",
        )
        for item in explanation.params
    ]
    yield from _section("parameters", table(rows))


def _sets(explanation: Explanation) -> Iterator[Line]:
    rows = [
        (
            item.name,
            "size not known" if item.size is None else f"{item.size:,}",
            _members(item.members, item.size),
            f"from {item.given}" if item.given is not None else "",
        )
        for item in explanation.sets
    ]
    yield from _section("sets", table(rows))


def _members(members: Sequence[str], size: int | None) -> str:
    if size is None or len(members) == size:
        return ", ".join(members)
    return f"{', '.join(members[:-1])}, ... {members[-1]}"


def _given(item: GivenFact) -> Iterator[Line]:
    yield Line(f"given {item.name} = {item.settings}", heading=True)
    yield from _wrapped(item.summary)
    yield from _wrapped(_fields(item.fields))
    for note in item.notes:
        yield from _wrapped(f"note: {note}")


def _data(item: DataFact) -> Iterator[Line]:
    source = f" = {item.settings}" if item.source is not None else ""
    yield from _wrapped(f"data {item.name}{source}", indent="", heading=True)
    yield from _wrapped(item.summary)
    rows = "known when the data are read"
    if item.rows is not None:
        rows = ", ".join(f"{count:,} {split}" for split, count in item.rows.items())
    yield from _wrapped(f"rows: {rows}")
    yield from _wrapped(_fields(item.fields))
    if any(field.standardised for field in item.fields):
        yield from _wrapped(
            "standardised: less the mean, over the deviation, of the train rows; ranges are of the result"
        )


def _fields(fields: Sequence[FieldFact]) -> str:
    return "fields: " + ", ".join(_field(item) for item in fields) if fields else ""


def _field(item: FieldFact) -> str:
    declared = f" in {bounds(*item.range)}" if item.range is not None else ""
    column = f' from "{item.column}"' if item.column is not None else ""
    return f"{item.name}: {item.type}{declared}{column}{' standardised' if item.standardised else ''}"


def _models(explanation: Explanation) -> Iterator[Line]:
    if explanation.models:
        yield Line("models", heading=True)
    for item in explanation.models:
        yield from _model(item)


def _model(item: ModelFact) -> Iterator[Line]:
    yield from _wrapped(item.signature)
    yield from _wrapped(f"= {item.architecture}", indent=_INDENT * 2)
    counted = "parameters not known yet" if item.parameters is None else f"{item.parameters:,} parameters"
    features = f"; features: {item.features}" if item.features is not None else ""
    yield from _wrapped(f"{counted}{features}", indent=_INDENT * 2)


def _objective(explanation: Explanation) -> Iterator[Line]:
    if not explanation.objective:
        yield Line("objective: none, what is feasible is looked for", heading=True)
        return
    yield Line("objective, minimised", heading=True)
    for item in explanation.objective:
        scale = f"   divided by {exact(item.scale)}" if item.scale is not None and item.scale != 1 else ""
        yield from _wrapped(f"{item.text}{scale}")


def _constraints(explanation: Explanation) -> Iterator[Line]:
    if not explanation.lowered:
        return
    if not explanation.parts:
        yield Line("constraints: none", heading=True)
        return
    yield Line(f"constraints: {_total(explanation)}", heading=True)
    head = ("part", "entries", "left out", "range", "scale", "form", "dual", "cap", "multiplier")
    yield from (Line(_INDENT + row) for row in table([head, *(_part(item) for item in explanation.parts)]))
    yield from _wrapped(f"convention: {explanation.lagrangian}")


def _total(explanation: Explanation) -> str:
    counts: dict[str, int] = {}
    for part in explanation.parts:
        over = f"a {'group' if part.of_groups else 'row'} of {part.data}"
        over = f"for all rows of {part.data}" if part.average else over
        counts[over] = counts.get(over, 0) + part.entries
    return ", ".join(f"{count:,} multiplier{'s' * (count != 1)} {over}" for over, count in counts.items())


def _part(item: PartFact) -> tuple[str, ...]:
    counts = ((item.filtered, "filtered"), (item.without_side, "infinite"))
    left_out = [f"{count} {why}" for count, why in counts if count]
    left_out += ["some by row"] if item.masked else []
    return (
        item.name,
        str(item.entries),
        ", ".join(left_out) or "-",
        between(*item.range) if item.range is not None else "-",
        ("range" if item.range == item.scale else between(*item.scale)) if item.scale is not None else "-",
        f"{item.sense} 0",
        item.dual,
        "-" if item.cap is None else number(item.cap),
        between(*item.multiplier),
    )


def _normal_forms(explanation: Explanation) -> Iterator[Line]:
    rows = []
    for item in explanation.parts:
        known = item.residual is not None and not unbounded(item.residual)
        lies = f"   (left side in {between(*item.residual)})" if known and item.residual is not None else ""
        rows.append((item.name, item.normal_form + lies))
    yield from _named("normal forms", rows)


def _duals(explanation: Explanation) -> Iterator[Line]:
    if not explanation.duals:
        return
    yield Line("duals", heading=True)
    for item in explanation.duals:
        reason = ", since the spec does not say" if item.is_default else ""
        count = "" if item.parameters is None else f"; {item.parameters:,} numbers"
        yield from _wrapped(f"{', '.join(item.parts)}: {item.kind}{reason}")
        yield from _wrapped(f"{item.text}{count}" if item.text != item.kind else count.removeprefix("; "), _INDENT * 2)
    for state in explanation.state:
        yield from _wrapped(_state(state))


def _state(state: StateFact) -> str:
    table_of = f"a table of all multipliers of {state.data}"
    held = "not known yet" if state.parameters is None else f"{state.parameters:,} numbers"
    if state.rows is None or state.table_bytes is None:
        return f"{table_of}: rows x {state.per_row} x 4 bytes; here: {held}"
    numbers = state.rows * state.per_row
    share = "" if not state.parameters else f", 1 for every {number(numbers / state.parameters)}"
    return (
        f"{table_of}: {state.rows:,} train rows x {state.per_row} = {numbers:,} numbers, {size(state.table_bytes)}; "
        f"here: {held}{share}"
    )


def _time(item: TimeFact) -> Iterator[tuple[str, str]]:
    work = [_steps(item.steps, item.passes, f" of {item.batch} rows")]
    if item.networks:
        whose = (
            "the network of multipliers" if item.networks == 1 else f"each of {item.networks} networks of multipliers"
        )
        work.append(f"{_steps(item.fit_steps, item.fit_passes, '')} of {whose}")
    work.append("one look at all train rows" if item.rows is None else f"one look at {item.rows:,} train rows")
    yield "an iteration", f"{', '.join(work)}{'; rows at rest are left out' if item.shrinking else ''}"
    if item.steps is not None:
        before = f", after {_counted(item.warmup_steps, 'step')} of warm-up" if item.warmup_steps else ""
        yield "the run", f"{_counted(item.outer, 'iteration')}: {item.outer * item.steps:,} steps{before}"
    yield "projected", _projected(item.measured)


def _steps(count: int | None, passes: float, size: str) -> str:
    """Steps; where only the data tell how many, passes over the rows."""
    return (
        f"{number(passes)} pass{'es' * (passes != 1)} in steps{size}"
        if count is None
        else _counted(count, "step") + size
    )


def _projected(item: MeasuredFact | None) -> str:
    """Seconds are measured, on the machine they were measured on, or not told."""
    if item is None:
        return "not known before it has run once under `runs`: `pdual run SPEC --quick` is enough"
    why = "" if item.same else ", of the spec as it was then"
    why += "" if item.whole else ", on fewer rows"
    source = f"as measured in {item.folder} on {item.device}{why}"
    if item.seconds_per_outer is None or item.seconds is None:
        return f"{duration(item.seconds_per_step)} a step, {source}"
    about = "" if item.same and item.whole else "about "
    return f"{about}{duration(item.seconds_per_outer)} an iteration, {duration(item.seconds)} in all, {source}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _named(heading: str, rows: Sequence[tuple[str, str]]) -> Iterator[Line]:
    if not rows:
        return
    yield Line(heading, heading=True)
    width = max(len(name) for name, _ in rows)
    hanging = _INDENT + " " * (width + 2)
    for name, value in rows:
        yield from _wrapped(value, f"{_INDENT}{name:<{width}}  ", hanging)


def _section(heading: str, rows: Sequence[str]) -> Iterator[Line]:
    if rows:
        yield Line(heading, heading=True)
        yield from (Line(_INDENT + row) for row in rows)


def _wrapped(text: str, indent: str = _INDENT, hanging: str | None = None, heading: bool = False) -> Iterator[Line]:
    hanging = f"{indent}{_INDENT}" if hanging is None else hanging
    for line in textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    ):
        yield Line(line, heading)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as their widest cell, two spaces apart; empty columns are left out."""
    filled = [place for place in range(len(rows[0]) if rows else 0) if any(row[place] for row in rows)]
    widths = {place: max(len(row[place]) for row in rows) for place in filled}
    return [_INDENT.join(f"{row[place]:<{widths[place]}}" for place in filled).rstrip() for row in rows]
