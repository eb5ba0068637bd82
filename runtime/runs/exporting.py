"""Models and multipliers as programs that run without pdual: torch.export and ONNX."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pdual.compiler.assemble import features_module
from pdual.compiler.graph import Graph
from pdual.compiler.ir import called
from pdual.dsl import typed
from pdual.dsl.declarations.registry import answers_by_row
from pdual.dsl.declarations.signature import part_names
from pdual.dsl.diagnostics import refuse
from pdual.dsl.types import ArrayType
from pdual.runtime.runs.unseen import column_kind, column_shape, standards_of, value_fields
from pdual.runtime.storage.export_folder import exporting, publish
from pdual.runtime.storage.outputs import write_whole
from pdual.runtime.training.run import Run
from pdual.runtime.training.training_sets import TrainingSet

#: Rows of the batch that a program is traced with.
TRACED = 3


@dataclass(frozen=True)
class Exported:
    """One program: its files by format, why a format was not written, and its inputs and outputs in order, by name and shape."""

    name: str
    files: Mapping[str, str]
    failed: Mapping[str, str]
    inputs: Mapping[str, Sequence[int]]
    outputs: Sequence[str]


class ModelProgram(nn.Module):
    """A model as a function of its arguments' parts, in order, to its outputs' parts; without arguments, of one row."""

    row: Tensor

    def __init__(self, model: nn.Module, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.register_buffer("row", torch.zeros(1, dtype=torch.long), persistent=False)

    def forward(self, *arguments: Tensor) -> tuple[Tensor, ...]:
        """[batch, *axes] each."""
        given = dict(zip(self.inputs, arguments, strict=True))
        if not given:
            given["@row"] = self.row
        found = self.model(given).outputs
        return tuple(found[name] for name in self.outputs)


class MultiplierProgram(nn.Module):
    """The multipliers of a data set, [batch, columns], scaled, as a function of the fields that they depend on, in order."""

    def __init__(self, training_set: TrainingSet, features: nn.Module, inputs: Sequence[str]) -> None:
        super().__init__()
        self.inputs = tuple(inputs)
        self.features = features
        self.phis = nn.ModuleList(
            phi
            for store in training_set.multipliers.stores
            if isinstance(phi := getattr(store, "phi", None), nn.Module)
        )
        self._multipliers = training_set.multipliers

    def forward(self, *fields: Tensor) -> Tensor:
        """The multipliers of entries that a filter leaves out are there too."""
        values = dict(zip(self.inputs, fields, strict=True))
        ids = torch.zeros_like(fields[0].flatten(1)[:, 0] if fields[0].ndim > 1 else fields[0], dtype=torch.long)
        found = self._multipliers.read(ids, self.features(values, ids), values, seen=False)
        return self._multipliers.spread(found)


def export(run: Run, graph: Graph, folder: Path) -> tuple[Exported, ...]:
    """Every model of the predictor, and the multipliers of every data set whose are functions of the row, each in both formats.

    A format that a program cannot be written in is told in ``failed``. ``export.json`` says what inputs and outputs are. Raises
    OSError, PD627 where a file stands there that was not exported, and PD735 where the ONNX exporter is not installed.
    """
    try:
        import onnxscript  # noqa: F401 - torch's exporter asks for it
    except ImportError:
        raise refuse("PD735", package="onnxscript") from None
    with exporting(folder) as fresh:
        found, columns = _programs(run, graph, fresh)
        publish(fresh, folder, _document(run, graph, found, columns))
    return tuple(found)


def _programs(run: Run, graph: Graph, folder: Path) -> tuple[list[Exported], dict[str, list[dict[str, Any]]]]:
    """What was written, and the columns of every data set's multipliers."""
    found = [_model(run, graph, model, folder) for model in predictors(graph)]
    columns = {}
    for training_set in run.training_sets:
        if training_set.multipliers.active and training_set.multipliers.generalises:
            found.append(_multipliers(run, graph, training_set, folder, run.options.placement.dtype))
            layout = training_set.program.layout
            columns[found[-1].name] = [
                {
                    "part": part.name,
                    "entry": entry,
                    "unit": float(training_set.program.multiplier_units[layout.columns_of(part).start + place]),
                }
                for part in layout.parts
                for place, entry in enumerate(part.addresses)
            ]
    return found, columns


def _document(
    run: Run, graph: Graph, exported: Sequence[Exported], columns: Mapping[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    """What ``export.json`` says."""
    return {
        "schema": 1,
        "problem": graph.spec.name,
        "precision": str(run.options.placement.dtype).removeprefix("torch."),
        "programs": [
            {
                "name": item.name,
                "files": dict(item.files),
                "inputs": {k: list(v) for k, v in item.inputs.items()},
                "outputs": list(item.outputs),
            }
            for item in exported
        ],
        "columns": columns,
        "standardised": {
            training_set.name: _standards(training_set)
            for training_set in run.training_sets
            if standards_of(training_set.table)
        },
    }


def _standards(training_set: TrainingSet) -> dict[str, dict[str, Any]]:
    """What a program's user does to columns of a file first: less the mean, over the deviation."""
    return {
        name: {"mean": item.mean.tolist(), "deviation": item.deviation.tolist()}
        for name, item in standards_of(training_set.table).items()
    }


def predictors(graph: Graph) -> list[typed.TypedModel]:
    """The models that predictions are made with: those that objectives and constraints call, but for frozen ones."""
    names = called(root for data in graph.data for root in data.roots)
    return [model for model in graph.spec.models if model.name in names and model.frozen_of is None]


def _model(run: Run, graph: Graph, model: typed.TypedModel, folder: Path) -> Exported:
    inputs: dict[str, Tensor] = {}
    if answers_by_row(model.architecture, model.signature):
        return Exported(
            model.name, {}, {"both": "it holds a value of every train row, and has none for others"}, {}, []
        )
    for name, kind in model.signature.inputs:
        if not isinstance(kind, ArrayType):
            return Exported(model.name, {}, {"both": f"`{name}` is a graph or a text"}, {}, [])
        for part in part_names(name, kind):
            inputs[part] = _example(column_shape(kind, graph), column_kind(kind), run.options.placement.dtype)
    outputs = [part for item in model.signature.outputs for part in part_names(item.name, item.type)]
    program = ModelProgram(run.problem.models[model.name], list(inputs), outputs)
    return _written(
        model.name, program, inputs, [f"{model.name}.{name}" if name else model.name for name in outputs], folder
    )


def _multipliers(run: Run, graph: Graph, training_set: TrainingSet, folder: Path, dtype: torch.dtype) -> Exported:
    data = graph.over(training_set.name)
    if data.grouping is not None:
        return Exported(f"multipliers-{training_set.name}", {}, {"both": "they are those of groups of rows"}, {}, [])
    own = graph.spec.data_set(training_set.name)
    wanted = value_fields(data)
    inputs = {}
    for field in own.fields:
        if not isinstance(field.type, ArrayType):
            if field.name in wanted:
                return Exported(
                    f"multipliers-{training_set.name}", {}, {"both": f"`{field.name}` is a graph or a text"}, {}, []
                )
            continue
        for part in part_names(field.name, field.type):
            if part in wanted:
                inputs[part] = _example(column_shape(field.type, graph), column_kind(field.type), dtype)
    if not inputs:
        return Exported(f"multipliers-{training_set.name}", {}, {"both": "they do not depend on the row"}, {}, [])
    program = MultiplierProgram(
        training_set, features_module(graph, data, run.problem.models, dtype).to(dtype), list(inputs)
    )
    return _written(f"multipliers-{training_set.name}", program, inputs, ["multipliers"], folder)


def _example(shape: Sequence[int], kind: torch.dtype, dtype: torch.dtype) -> Tensor:
    if kind is torch.float64:
        return torch.rand(TRACED, *shape, dtype=dtype, generator=torch.Generator().manual_seed(0))
    return torch.zeros(TRACED, *shape, dtype=kind)


def _written(
    name: str, program: nn.Module, inputs: Mapping[str, Tensor], outputs: Sequence[str], folder: Path
) -> Exported:
    """Both files of a program, each only where it was written."""
    files, failed = {}, {}
    program = program.eval()
    rows = torch.export.Dim("rows", min=1)
    shapes = (({0: rows},) * len(inputs),) if inputs else None
    arguments = tuple(inputs.values())
    try:
        with _quiet():
            traced = torch.export.export(program, arguments, dynamic_shapes=shapes, strict=False)
    except OSError:
        raise
    except Exception as error:  # whatever torch cannot trace
        return Exported(name, {}, {"both": _reason(error)}, _shapes(inputs), outputs)
    place = folder / f"{name}.pt2"
    content = io.BytesIO()  # torch ends the process where it cannot encode the name of a file
    with _quiet():
        torch.export.save(traced, content)
    write_whole(place, content.getvalue())
    files["torch.export"] = place.name
    place = folder / f"{name}.onnx"
    try:
        with _quiet():
            torch.onnx.export(
                traced,
                arguments,
                place,
                input_names=list(inputs),
                output_names=list(outputs),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
        files["onnx"] = place.name
    except OSError:
        raise
    except Exception as error:  # an operation that ONNX does not have
        place.unlink(missing_ok=True)
        failed["onnx"] = _reason(error)
    return Exported(name, files, failed, _shapes(inputs), outputs)


def _shapes(inputs: Mapping[str, Tensor]) -> dict[str, list[int]]:
    return {name: list(value.shape[1:]) for name, value in inputs.items()}


def _reason(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__


@contextmanager
def _quiet() -> Any:
    """Exporters tell of what goes on inside them."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "torch.export", "torch._dynamo")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
