"""Predictions and multipliers of a finished run for given rows. Every name and every value is checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pdual.compiler.layout import Layout
from pdual.compiler.open_axes import called_signature
from pdual.dsl.declarations.registry import answers_by_row
from pdual.dsl.declarations.signature import part_names, shape
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.dsl.types import TEXT, ArrayType, GraphType, Kind, MemberOf
from pdual.runtime.data.tables import ColumnTable, Ragged
from pdual.runtime.problem.prepare import read_rows
from pdual.runtime.runs.execute import Outcome
from pdual.runtime.runs.unseen import look, multiplier_fields, standards_of, text_fields
from pdual.runtime.system.setting import plain
from pdual.runtime.training.training_sets import TrainingSet

if TYPE_CHECKING:
    Columns = dict[str, Tensor]
    Texts = dict[str, Sequence[Any]]

Kinds = Mapping[str, "ArrayType | GraphType"]


def predicted(outcome: Outcome, name: str, rows: Any) -> dict[str, Tensor | Ragged]:
    """See ``Run.predict``. Raises PD732, PD751 to PD753, and what the model raises."""
    models = {model.name: model for model in outcome.graph.spec.models}
    if not isinstance(name, str) or name not in models:
        raise _unknown("model", name, models)
    module = outcome.run.problem.models[name]
    if answers_by_row(models[name].architecture, models[name].signature):
        raise refuse("PD732", model=name)
    kinds = dict(called_signature(models[name], outcome.graph.spec).inputs)
    nothing = not kinds and isinstance(rows, Mapping) and not rows
    columns, texts = ({}, {}) if nothing else _read(rows, kinds, outcome, f"predict({name!r}, ...)")
    missing = [item for item in kinds if not _has(item, kinds[item], columns, texts)]
    _refuse_missing(f"predict({name!r}, ...)", missing, kinds)
    weight = next((item for item in module.parameters()), torch.zeros(()))
    inputs: dict[str, Any] = {**texts} if kinds else {"@row": torch.zeros(1, dtype=torch.long)}
    for part, tensor in columns.items():
        kind = weight.dtype if tensor.is_floating_point() else tensor.dtype
        inputs[part] = tensor.to(device=weight.device, dtype=kind)
    with plain(), torch.no_grad():
        module.eval()
        found: Mapping[str, Tensor | Ragged] = module(inputs).outputs
    return _joined(found)


def multipliers_of_split(outcome: Outcome, split: str, data: str | None) -> dict[str, Tensor]:
    """See ``Run.multipliers``. Raises PD751."""
    training_sets = outcome.run.training_sets
    if data is not None and not (
        isinstance(data, str) and data in [training_set.name for training_set in training_sets]
    ):
        raise _unknown("data set", data, [training_set.name for training_set in training_sets])
    asked = [training_set for training_set in training_sets if data in (None, training_set.name)]
    splits = dict.fromkeys(name for training_set in asked for name in training_set.table.splits)
    if split not in splits:
        raise _unknown("split", split, splits)
    found: dict[str, Tensor] = {}
    with plain():
        for training_set in asked:
            if split in training_set.table.splits:
                read = training_set.evaluate(split).multipliers
                if read is not None:
                    found |= _by_part(training_set.program.layout, read)
    averages = outcome.run.averages
    if averages is not None and averages.multipliers.active and data is None:
        found |= _by_part(averages.layout, averages.level)
    return found


def multipliers_of_rows(outcome: Outcome, rows: Any, data: str | None) -> dict[str, Tensor]:
    """See ``Run.multipliers``. Raises PD73x, PD751 to PD753."""
    training_set = _training_set(outcome, data)
    graph, spec = outcome.graph.over(training_set.name), outcome.graph.spec.data_set(training_set.name)
    kinds = {field.name: field.type for field in spec.fields}
    columns, texts = _read(rows, kinds, outcome, "multipliers(...)")
    needed = multiplier_fields(graph) | text_fields(graph, spec)
    _refuse_missing("multipliers(...)", sorted(needed - columns.keys() - texts.keys()), kinds)
    columns |= {
        name: item.of(columns[name]) for name, item in standards_of(training_set.table).items() if name in columns
    }
    count = len([*columns.values(), *texts.values()][0])
    table = ColumnTable(columns, {"new": torch.arange(count)}, "new rows", texts=texts)
    with plain():
        read_rows(outcome.graph, {training_set.name: table}, outcome.run.problem.models)
        found = look(outcome.run, outcome.graph, training_set, table, multipliers=True).multipliers
    assert found is not None
    return _by_part(training_set.program.layout, found)


def _training_set(outcome: Outcome, data: str | None) -> TrainingSet:
    """The data set that has multipliers of rows: the one that is named, or the only one."""
    of_rows = [training_set for training_set in outcome.run.training_sets if training_set.program.groups_by is None]
    asked = None if data is None else str(data)
    held = [
        training_set
        for training_set in of_rows
        if training_set.multipliers.active and asked in (None, training_set.name)
    ]
    if len(held) != 1:
        names = [training_set.name for training_set in of_rows if training_set.multipliers.active]
        raise _unknown("data set with multipliers of rows called", asked or "data", names)
    return held[0]


def _read(rows: Any, kinds: Kinds, outcome: Outcome, call: str) -> tuple[Columns, Texts]:
    """Tensors by part, and texts, of the arguments or fields that are given. Raises PD751, PD752."""
    if not isinstance(rows, Mapping):
        raise refuse("PD752", name=call, expected="a mapping of names to rows", found=type(rows).__name__)
    columns: Columns = {}
    texts: Texts = {}
    for name, values in rows.items():
        base, part = _place(name, kinds)
        kind = kinds[base]
        if not isinstance(kind, ArrayType) or kind == TEXT:
            texts[name] = _texts(name, values, kind)
        else:
            columns |= _numbers(name, part, values, kind, outcome)
    lengths = {name: len(values) for name, values in columns.items()}
    lengths |= {name: len(values) for name, values in texts.items()}
    if len(set(lengths.values())) > 1 or 0 in lengths.values():
        found = ", ".join(f"{count} of `{name}`" for name, count in lengths.items())
        raise refuse("PD752", name=call, expected="at least one row, as many of each", found=found)
    if not lengths:
        raise refuse("PD753", call=call, missing="rows", names=_shown(kinds))
    return columns, texts


def _place(name: object, kinds: Kinds) -> tuple[str, str]:
    """A field and, of a complex one that is given in parts, which."""
    if isinstance(name, str):
        if name in kinds:
            return name, ""
        base, _, part = name.rpartition(".")
        kind = kinds.get(base)
        if part in ("re", "im") and isinstance(kind, ArrayType) and kind.element is Kind.COMPLEX:
            return base, part
    raise _unknown("argument or field", name, kinds)


def _texts(name: str, values: Any, kind: object) -> Sequence[Any]:
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise refuse("PD752", name=name, expected="one a row", found=type(values).__name__)
    found = list(values)
    for row, value in enumerate(found):
        if kind == TEXT and not isinstance(value, str):
            raise refuse("PD752", name=name, expected="texts", found=f"{type(value).__name__} in row {row}")
    return found


def _numbers(name: str, part: str, values: Any, kind: ArrayType, outcome: Outcome) -> Columns:
    """One field as tensors by part, of its shape and its kind of numbers."""
    tensor = _tensor(name, values, kind, outcome)
    sides = shape(kind, outcome.graph.sizes)
    sizes = tuple(tensor.shape[1:]) if tensor.ndim else None
    if sizes is None or len(sizes) != len(sides) or any(s not in (None, n) for s, n in zip(sides, sizes, strict=True)):
        shown = ", ".join(["rows", *("_" if side is None else str(side) for side in sides)])
        raise refuse("PD752", name=name, expected=f"numbers [{shown}]", found=f"shape {list(tensor.shape)}")
    element = kind.element
    if element is Kind.COMPLEX and not part:
        if not tensor.is_complex():
            tensor = torch.complex(tensor.double(), torch.zeros_like(tensor, dtype=torch.float64))
        return dict(zip(part_names(name, kind), (tensor.real, tensor.imag), strict=True))
    if tensor.is_complex():
        raise refuse("PD752", name=name, expected="real numbers", found="complex ones")
    if element in (Kind.REAL, Kind.COMPLEX):
        return {name: tensor if tensor.is_floating_point() else tensor.double()}
    if element is Kind.BOOL:
        if tensor.dtype != torch.bool and not bool(((tensor == 0) | (tensor == 1)).all()):
            raise refuse("PD752", name=name, expected="truth values", found="other numbers")
        return {name: tensor.bool()}
    if tensor.is_floating_point() and not bool((tensor == tensor.round()).all()):
        raise refuse("PD752", name=name, expected="whole numbers", found="others")
    whole = tensor.long()
    if isinstance(element, MemberOf):
        count = outcome.graph.sizes[element.set]
        if bool(((whole < 0) | (whole >= count)).any()):
            raise refuse("PD752", name=name, expected=f"positions in `{element.set}`, 0 to {count - 1}", found="others")
    return {name: whole}


def _tensor(name: str, values: Any, kind: ArrayType, outcome: Outcome) -> Tensor:
    """Numbers as a tensor; labels of a set as their positions."""
    import numpy as np

    if isinstance(values, Tensor):
        return values.detach()
    try:
        array = np.asarray(values)
    except Exception as error:
        raise refuse("PD752", name=name, expected="an array", found=f"{type(values).__name__}: {error}") from None
    if array.dtype.kind == "U" and isinstance(kind.element, MemberOf):
        labels = {label: place for place, label in enumerate(outcome.graph.labels.get(kind.element.set, ()))}
        odd = next((label for label in array.flat if str(label) not in labels), None)
        if odd is not None:
            raise _unknown(f"member of `{kind.element.set}`", str(odd), labels)
        array = np.array([labels[str(label)] for label in array.flat]).reshape(array.shape)
    if array.dtype.kind not in "biufc":
        raise refuse("PD752", name=name, expected="numbers", found=f"{type(values).__name__} of `{array.dtype}`")
    kinds = {"u": np.int64, "f": np.float64, "c": np.complex128, "i": np.int64}
    array = array if array.dtype.kind == "b" else array.astype(kinds[array.dtype.kind])
    return torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape))


def _has(name: str, kind: object, columns: Columns, texts: Texts) -> bool:
    parts = part_names(name, kind) if isinstance(kind, ArrayType) and kind != TEXT else (name,)
    return all(part in columns or part in texts for part in parts)


def _refuse_missing(call: str, missing: Iterable[str], kinds: Kinds) -> None:
    shown = ", ".join(f"`{name}`" for name in missing)
    if shown:
        raise refuse("PD753", call=call, missing=shown, names=_shown(kinds))


def _shown(names: Iterable[str]) -> str | None:
    return ", ".join(f"`{name}`" for name in names) or None


def _unknown(what: str, name: object, names: Iterable[str]) -> Refusal:
    there = list(names)
    near = nearest(name, there) if isinstance(name, str) else None
    return refuse("PD751", what=what, name=name, names=_shown(there), near=near)


def _by_part(layout: Layout, values: Tensor) -> dict[str, Tensor]:
    """[rows, columns] as [rows, entries] by part."""
    return {part.name: values[:, layout.columns_of(part)] for part in layout.parts}


def _joined(outputs: Mapping[str, Any]) -> dict[str, Tensor | Ragged]:
    """Real and imaginary parts as one complex tensor."""
    joined: dict[str, Tensor | Ragged] = {}
    for name, value in outputs.items():
        base, _, part = name.rpartition(".")
        if part == "im" or name == "im":
            continue
        if part == "re" or name == "re":
            joined[base] = torch.complex(value, outputs[f"{base}.im" if base else "im"])
        else:
            joined[name] = value
    return joined
