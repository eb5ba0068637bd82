"""A spec under attack: its program with made-up models, the interpreter beside it, and the ranges that were derived."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from pdual.compiler.assemble import assemble, average_plan, data_free_terms
from pdual.compiler.compile import feature_types, interval_analysis
from pdual.compiler.graph import Graph
from pdual.compiler.interpreter import (
    Environment,
    EvaluationError,
    GroupValues,
    Remembered,
    RowEntry,
    RowValues,
    metric_of,
    objective_of,
    rows_of,
)
from pdual.compiler.interval_analysis import IntervalAnalysis
from pdual.compiler.ir import nested
from pdual.compiler.open_axes import called_signature
from pdual.compiler.program import ROWS as ROWS_OF_GROUPS
from pdual.compiler.program import Evaluation, Program
from pdual.dsl.declarations.signature import Signature
from pdual.dsl.types import ArrayType, Kind
from pdual.runtime.data.tables import RowBatch, with_groups
from pdual.verifying.calls import SQUARED_NORM, CalledModel, Calls, OtherCalls, column
from pdual.verifying.case import RowsCase
from pdual.verifying.drawing import ROWS, Drawing
from pdual.verifying.outcomes import Undefined
from pdual.verifying.ranges import values_of_nodes

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from pdual.restoring import Restored
    from pdual.verifying.trained import Trained

#: How far predictions are moved to see whether a value jumps.
NEAR = 1e-8


@dataclass(frozen=True)
class Meant:
    """What the interpreter says of one row: entries by (family, part, members), objective (scaled), the metrics that have a value."""

    entries: Mapping[tuple[str, str, tuple[int, ...]], RowEntry]
    objective: float | None
    metrics: Mapping[str, float]


class Session:
    """What is known of one case: its calls, and what the interpreter says, which is asked once.

    The interpreter is asked first: it numbers the calls, and the program then finds them.
    """

    def __init__(self, subject: Subject, case: RowsCase) -> None:
        self.case = case
        trained = subject.trained
        self.calls = Calls(
            case,
            subject.signatures,
            subject.features,
            subject.graph.sizes,
            subject.drawing,
            trained.answer if trained is not None else None,
            trained.names if trained is not None else frozenset(),
        )
        self._subject = subject
        self._rows: list[Meant] | Undefined | None = None
        #: By row, how far each call moves from one point of ``between`` to the other, of those that constraints and objective read.
        self.distances: list[list[float]] = []

    @property
    def rows(self) -> list[Meant]:
        """What the interpreter says of every row. Raises Undefined where an expression has no value."""
        if self._rows is None:
            try:
                self._rows = self._subject.meant(self.case, self.calls)
            except Undefined as reason:
                self._rows = reason
        if isinstance(self._rows, Undefined):
            raise self._rows
        return self._rows

    @cached_property
    def near(self) -> list[list[Meant]]:
        """What the interpreter says of every row a little to either side: where it jumps, rounding decides."""
        found = []
        for shift in (NEAR, -NEAR):
            self.calls.shift = shift
            try:
                with suppress(Undefined):
                    found.append(self._subject.meant(self.case, self.calls))
            finally:
                self.calls.shift = 0.0
        return found

    @cached_property
    def between(self) -> list[list[Meant]]:
        """What the interpreter says of every row at the case's predictions, at others, and half way. Raises Undefined."""
        found = [self.rows]
        if not all(math.isfinite(entry.residual) for row in self.rows for entry in row.entries.values()):
            raise Undefined("numbers overflow")
        again = None
        if self._subject.nested:
            # An inner prediction that moves is another argument of the outer call, which is the same prediction all the same.
            self.calls.look()
            self._subject.meant(self.case, self.calls, metrics=False)
            again = self.calls.asked
        try:
            for blend in (1.0, 0.5):
                self.calls.blend = blend
                self.calls.look(again)
                found.append(self._subject.meant(self.case, self.calls, metrics=False))
            if again is not None and [len(row) for row in again] != [len(row) for row in self.calls.asked]:
                raise OtherCalls
        except OtherCalls:
            raise Undefined("other calls are asked for at another point") from None
        finally:
            self.calls.blend = 0.0
            self.distances = self.calls.distances()
            self.calls.look()
            self.calls.next_row()
        return found

    @cached_property
    def largest(self) -> float:
        """The largest number that occurs on the way to any value, at least 1: what rounding is relative to."""
        found = [1.0]
        for held in values_of_nodes(self._subject, self.case, self.calls):
            finite = held.value[torch.isfinite(held.value)]
            if finite.numel():
                found.append(float(finite.abs().max()))
        return max(found)


class Subject:
    """One lowered spec. Everything is computed in double precision. ``run``: its trained models stand for made-up ones."""

    def __init__(self, graph: Graph, run: Restored | None = None) -> None:
        self.graph = graph
        self.spec = graph.spec
        self._session: Session | None = None
        self.nested = any(nested(data.roots) for data in graph.data)
        self.signatures: Mapping[str, Signature] = {
            model.name: called_signature(model, graph.spec) for model in graph.spec.models
        }
        self.features = feature_types(graph.spec, graph.sizes)
        self.trained = _trained(run, self.signatures)
        known = self.trained.names if self.trained is not None else frozenset[str]()
        made_up = {name: signature for name, signature in self.signatures.items() if name not in known}
        self.drawing = Drawing(graph.spec, made_up, graph.sizes)
        self.models = {name: CalledModel(name, signature) for name, signature in self.signatures.items()}
        self.programs = {p.data: p for p in assemble(graph, nn.ModuleDict(self.models), torch.float64)}
        self.averages = average_plan(graph)
        self.environment = Environment(
            graph.spec.param_values,
            graph.knowns,
            {name: tuple(labels) for name, labels in graph.labels.items()},
            dict.fromkeys(self.signatures, SQUARED_NORM),
        )

    @cached_property
    def intervals(self) -> IntervalAnalysis:
        """Ranges by the declared ones alone, those of every row."""
        return interval_analysis(self.spec, self.graph.knowns, self.graph.sizes)

    @cached_property
    def free_terms(self) -> list[tuple[float, float]]:
        """Of every term that needs no data: what the program says, scaled, and what the interpreter says."""
        from pdual.compiler.interpreter import evaluate

        modules = data_free_terms(self.graph, nn.ModuleDict(self.models), torch.float64)
        found = []
        for term, node, written in zip(modules, self.graph.data_free, self.spec.objectives, strict=True):
            meant = evaluate(written.value, self.environment, RowValues({})) / node.scale
            found.append((float(term.evaluate(nn.ModuleDict(self.models)).detach()), meant))
        return found

    def cases(self, data: str) -> SearchStrategy[RowsCase]:
        """Rows of a data set that are made up, and of a run its own."""
        import hypothesis.strategies as st

        grouped = bool(self.graph.over(data).groups) or self.of_groups(data)
        drawn = self.drawing.cases(data, self.graph.over(data).of, grouped)
        trained = self.trained
        if trained is None or not (count := trained.count(data)):
            return drawn

        def own(places: list[int]) -> RowsCase:
            rows = tuple(trained.row(data, place) for place in places)
            return RowsCase(data, rows, {}, (len(places),) if grouped else ())

        return drawn | st.lists(st.integers(0, count - 1), min_size=1, max_size=ROWS).map(own)

    def of_groups(self, data: str) -> bool:
        """Whether what is constrained and measured are groups of rows."""
        return self.graph.over(data).grouping is not None

    def count(self, case: RowsCase) -> int:
        """How many rows, or groups, a program tells of."""
        return len(case.groups) if self.of_groups(case.data) else len(case.rows)

    def session(self, case: RowsCase) -> Session:
        """The session of a case; the last one again where it is the same object."""
        if self._session is None or self._session.case is not case:
            self._session = Session(self, case)
        return self._session

    def batch(self, case: RowsCase) -> RowBatch:
        """The rows as the program reads them."""
        values: dict[str, Any] = {}
        declared = self.spec.data_set(self.graph.over(case.data).of)
        for item in declared.fields:
            rows = [row[item.name] for row in case.rows]
            opaque = not isinstance(item.type, ArrayType) or item.type.element is Kind.TEXT
            values |= {item.name: rows} if opaque else column(item.name, rows, item.type)  # type: ignore[arg-type]
        batch = RowBatch(torch.arange(len(case.rows)), values)
        batch = with_groups(batch, case.groups) if case.groups else batch
        if not self.of_groups(case.data):
            return batch
        return RowBatch(torch.arange(len(case.groups)), {**batch.values, ROWS_OF_GROUPS: batch.ids})

    def ask(self, calls: Calls) -> None:
        """Let the program's models answer from these calls."""
        for model in self.models.values():
            model.calls = calls
            model.leaves = []
            model.asked = []

    def run(self, case: RowsCase, calls: Calls) -> tuple[Program, Evaluation]:
        """The program on all rows of a case at once."""
        self.ask(calls)
        program = self.programs[case.data]
        batch = self.batch(case)
        found: Evaluation = program.evaluate(batch.values, batch.ids)
        return program, found

    def leaves(self) -> list[tuple[Tensor, Tensor]]:
        """The outputs of the last run, each with the direction it is moved in."""
        return [pair for model in self.models.values() for pair in model.leaves]

    def rows(self, case: RowsCase, calls: Calls) -> list[RowValues]:
        """The rows as the interpreter reads them."""
        return [RowValues(row, calls.outputs, calls.features) for row in case.rows]

    def meant(self, case: RowsCase, calls: Calls, metrics: bool = True) -> list[Meant]:
        """What the interpreter says of every row. Raises Undefined where an expression has no value."""
        try:
            found = []
            for unit in self.units(case, calls):
                calls.next_row()
                found.append(self._meant(case.data, unit, metrics))
            return found
        except EvaluationError as error:
            raise Undefined(str(error)) from error

    def groups(self, case: RowsCase, calls: Calls) -> list[GroupValues]:
        """The groups of rows as the interpreter reads them."""
        rows, ends = self.rows(case, calls), list(accumulate(case.groups))
        return [
            GroupValues(rows[end - size : end], calls.outputs, calls.features)
            for size, end in zip(case.groups, ends, strict=True)
        ]

    def units(self, case: RowsCase, calls: Calls) -> Sequence[RowValues | GroupValues]:
        """What the program tells of, one at a time: rows or groups."""
        return self.groups(case, calls) if self.of_groups(case.data) else self.rows(case, calls)

    def meant_of_groups(self, case: RowsCase, calls: Calls) -> list[float]:
        """The scaled objective of every group; not a number where it has no value. None where what is told of are groups alone."""
        if self.of_groups(case.data):
            return []
        blocks = [block for block in self.spec.blocks if block.data == case.data and block.group_by is not None]
        found = []
        for group in self.groups(case, calls):
            try:
                terms = [objective_of(block, self.environment, group, scaled=True) for block in blocks]
            except EvaluationError:
                terms = [math.nan]
            found.append(math.fsum(terms))
        return found

    def _meant(self, data: str, row: RowValues | GroupValues, with_metrics: bool) -> Meant:
        entries: dict[tuple[str, str, tuple[int, ...]], RowEntry] = {}
        objective: float | None = None
        metrics: dict[str, float] = {}
        shared: Remembered = {}
        for block in (block for block in self.spec.blocks if block.over == data):
            for family in block.families:
                for entry in rows_of(family, self.environment, row, shared):
                    entries[family.name, entry.part, entry.members] = entry
            if block.objectives and block.group_by is None:
                objective = (objective or 0.0) + objective_of(
                    block, self.environment, row, scaled=True, remembered=shared
                )
            if with_metrics:
                for metric in block.metrics:
                    with suppress(EvaluationError):
                        metrics[metric.name] = metric_of(metric, self.environment, row, shared)
        return Meant(entries, objective, metrics)


def _trained(run: Restored | None, signatures: Mapping[str, Signature]) -> Trained | None:
    if run is None:
        return None
    from pdual.verifying.trained import Trained

    return Trained(run, signatures)
