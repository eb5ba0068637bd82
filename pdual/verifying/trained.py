"""The networks of a run in place of made-up functions: they answer calls, and stand in a program of their own, in double precision."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from math import inf
from typing import Any

import torch
from torch import Tensor, nn

from pdual.compiler.assemble import assemble
from pdual.compiler.program import Evaluation, Program
from pdual.dsl import typed
from pdual.dsl.declarations.registry import answers_by_row
from pdual.dsl.declarations.signature import Signature, part_names
from pdual.dsl.types import ArrayType, Kind
from pdual.restoring import Restored
from pdual.runtime.data.tables import Ragged, RowBatch
from pdual.runtime.training.training_sets import TrainingSet
from pdual.verifying.calls import Answer, column
from pdual.verifying.case import Value
from pdual.verifying.outcomes import Undefined


class Trained:
    """The models of a run that answer for any row of numbers; ``names`` are theirs. Others (texts, graphs, a table of rows) stay made up."""

    def __init__(self, restored: Restored, signatures: Mapping[str, Signature]) -> None:
        self._found = restored
        declared = {model.name: model.architecture for model in restored.graph.spec.models}
        self.names = frozenset(
            name
            for name, signature in signatures.items()
            if all(_is_numbers(kind) for _, kind in signature.inputs)
            and (use := declared[name]) is not None
            and not answers_by_row(use, signature)
        )
        self._signatures = signatures
        kept = {name: copy.deepcopy(restored.run.problem.models[name]) for name in sorted(self.names)}
        self.models = nn.ModuleDict(kept).double().eval()

    @cached_property
    def programs(self) -> Mapping[str, Program]:
        """The programs with the networks in them, by data set; none where some model stays made up."""
        if self.names != set(self._signatures):
            return {}
        return {item.data: item for item in assemble(self._found.graph, self.models, torch.float64)}

    def answer(self, model: str, arguments: tuple[Value, ...]) -> Answer:
        """Outputs and features of one call. Raises Undefined where they overflow."""
        signature = self._signatures[model]
        inputs: dict[str, Any] = {"@row": torch.zeros(1, dtype=torch.int64)}
        for (name, kind), value in zip(signature.inputs, arguments, strict=True):
            assert isinstance(kind, ArrayType)
            inputs |= column(name, [value], kind)
        with torch.no_grad():
            found = self.models[model](inputs)
        outputs = {}
        for item in signature.outputs:
            parts = [found.outputs[part] for part in part_names(item.name, item.type)]
            whole = torch.complex(*parts) if len(parts) == 2 else parts[0]
            outputs[item.name] = _one(whole)
        return Answer(outputs, {name: _one(value) for name, value in found.features.items()})

    def training_set(self, data: str) -> TrainingSet:
        """The training set of a data set, in the precision of the run."""
        return next(training_set for training_set in self._found.run.training_sets if training_set.name == data)

    def evaluate(self, data: str, batch: RowBatch) -> tuple[Evaluation, Tensor | None]:
        """What the program of the run says of rows, in its own precision, and the multipliers of rows that it has not seen."""
        training_set = self.training_set(data)
        dtype = training_set.multipliers.lagrangian.rho.dtype
        values = {name: _cast(value, dtype) for name, value in batch.values.items()}
        with torch.no_grad():
            found = Evaluation(*training_set.program.evaluate(values, batch.ids))
            if not training_set.multipliers.active:
                return found, None
            return found, training_set.multipliers.spread(
                training_set.multipliers.read(batch.ids, found.features, values, seen=False)
            )

    @contextmanager
    def listening(self) -> Iterator[list[tuple[str, str, Tensor, float, float]]]:
        """What the run's networks predict meanwhile, in its own precision: model, output, values, and the ends of the declared range."""
        heard: list[tuple[str, str, Tensor, float, float]] = []

        def listen(name: str) -> Callable[[nn.Module, Any, Any], None]:
            def hear(module: nn.Module, inputs: Any, found: Any) -> None:
                for item in self._signatures[name].outputs:
                    low, high = item.low, item.high
                    ends = (-inf if low is None else low, inf if high is None else high)
                    for part in part_names(item.name, item.type):
                        value = found.outputs[part]
                        whole = value.values if isinstance(value, Ragged) else value
                        heard.append((name, item.name, whole.double(), *ends))

            return hear

        models = self._found.run.problem.models
        hooks = [models[name].register_forward_hook(listen(name)) for name in sorted(self.names)]
        try:
            yield heard
        finally:
            for hook in hooks:
                hook.remove()

    def count(self, data: str) -> int:
        """How many rows the run has of a data set, in all its splits; 0 where a row has more than numbers."""
        declared = self._declared(data)
        return len(self._ids(declared.name)) if all(_is_numbers(item.type) for item in declared.fields) else 0

    def row(self, data: str, place: int) -> dict[str, Value]:
        """One of them, as it was loaded."""
        declared = self._declared(data)
        values = self._found.tables[declared.name].batch(self._ids(declared.name)[place : place + 1]).values
        found = {}
        for item in declared.fields:
            assert isinstance(item.type, ArrayType)
            parts = [values[part] for part in part_names(item.name, item.type)]
            whole = torch.complex(*(part.double() for part in parts)) if len(parts) == 2 else parts[0]  # type: ignore[attr-defined]
            found[item.name] = _one(_cast(whole, torch.float64))
        return found

    def _declared(self, data: str) -> typed.TypedData:
        """The data set whose rows are read."""
        return self._found.graph.spec.data_set(self._found.graph.over(data).of)

    def _ids(self, data: str) -> Tensor:
        return torch.cat(list(self._found.tables[data].splits.values()))


def _is_numbers(kind: object) -> bool:
    return isinstance(kind, ArrayType) and kind.element is not Kind.TEXT


def _one(value: Any) -> Value:
    """The only row of a batch."""
    whole = value.values if isinstance(value, Ragged) else value[0]
    if whole.is_floating_point() and not bool(torch.isfinite(whole).all()):
        raise Undefined("a network says what is no number")
    return whole.tolist()


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, Ragged):
        return Ragged(_cast(value.values, dtype), value.offsets)
    return value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value
