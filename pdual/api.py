"""pdual from Python: ``load`` a spec, ``solve`` it, ask the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdual.compiler.graph import Graph
from pdual.compiler.layout import Layout
from pdual.dsl import typed
from pdual.dsl.declarations.registry import answers_by_row
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.dsl.spans import Source
from pdual.errors import told, warn
from pdual.finding import find
from pdual.runtime.context import SourceContext
from pdual.runtime.options import RunOptions
from pdual.understanding import ALL, Understood, check_data, understand

if TYPE_CHECKING:
    from torch import Tensor, nn

    from pdual.runtime.data import Ragged
    from pdual.runtime.execute import Outcome
    from pdual.runtime.records import Metrics


def load(
    spec: str | Path,
    params: Mapping[str, float | int | str] | None = None,
    data: Mapping[str, Any] | None = None,
    models: Mapping[str, nn.Module] | None = None,
    dual: str | Mapping[str, str] | None = None,
    minimize: bool = True,
) -> Problem:
    """Read a spec: a file, or the name of a shipped one.

    ``params`` are values of parameters, ``data`` the rows of data sets (files, arrays by column, data frames, torch or Hugging
    Face data sets; see ``pdual.binding.bound``), ``models`` the modules of models that the spec leaves open: any ``nn.Module``
    that takes its arguments by position. ``dual`` is a kind for all multipliers, or kinds by family; ``minimize`` false drops the objective.
    Raises ProblemError; what is odd is a ProblemWarning.
    """
    source: Source | None = None
    duals = {ALL: dual} if isinstance(dual, str) else dict(dual or {})
    overrides = {name: _written(value) for name, value in (params or {}).items()}
    try:
        found = find(str(spec))
        source = found.source
        context = SourceContext(folder=found.folder, files=dict.fromkeys(data or {}, Path()))
        understood = understand(source, overrides, duals, minimize, context)
        understood.refuse()
        assert understood.spec is not None
        files = _files(data or {}, understood.spec, SourceContext(folder=found.folder))
        check_data(files, understood.spec)
        modules = _modules(models or {}, understood.spec)
    except Refusal as refusal:
        raise told(refusal, source) from refusal.__cause__
    warn(understood.diagnostics, source)
    options = RunOptions(overrides=overrides, dual=duals, minimize=minimize, data=files)
    return Problem(understood, found.folder, options, modules)


def _written(value: float | int | str) -> str:
    """A value as ``--set`` would have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _files(data: Mapping[str, Any], spec: typed.TypedSpec, context: SourceContext) -> dict[str, Path]:
    """Every data set that is given as a file; rows from Python are written to the cache."""
    if not data:
        return {}
    from pdual.binding import bound
    from pdual.runtime.sources.cache import cache_root

    known = {item.name: item for item in spec.data}
    check_data({name: Path() for name in data if name not in known}, spec)
    sets = {item.name: item.labels for item in spec.sets if item.labels is not None}
    return {name: bound(rows, known[name], cache_root(context) / "bound", sets) for name, rows in data.items()}


def _modules(models: Mapping[str, nn.Module], spec: typed.TypedSpec) -> dict[str, nn.Module]:
    """The modules as models are called."""
    if not models:
        return {}
    from pdual.runtime.architectures.adapted import adapted

    known = {model.name: model for model in spec.models}
    for name in models:
        if name not in known:
            raise refuse("PD710", name=name, names=", ".join(f"`{item}`" for item in known), near=nearest(name, known))
    return {name: adapted(module, known[name]) for name, module in models.items()}


@dataclass(frozen=True)
class Problem:
    """A spec that was understood, with what it is run with."""

    understood: Understood
    folder: Path
    options: RunOptions
    models: Mapping[str, nn.Module]

    @property
    def graph(self) -> Graph:
        """The lowered spec."""
        assert self.understood.graph is not None
        return self.understood.graph

    def solve(self, **options: Any) -> Run:
        """Run it. ``options`` are those of ``RunOptions``: ``out``, ``seed``, ``quick``, ``limit``, ``budget``,
        ``device``, ...

        Raises ProblemError for wrong data and runs that fail; rows that no prediction satisfies are a ProblemWarning.
        """
        from dataclasses import replace

        from pdual.runtime.execute import default_workers, execute

        for name in ("out", "initial"):
            if isinstance(options.get(name), str):
                options[name] = Path(options[name])
        source = self.understood.source
        context = SourceContext(folder=self.folder, workers=default_workers())
        try:
            outcome = execute(
                self.graph,
                source.text,
                replace(self.options, **options),
                context,
                given=self.models,
                warn=lambda found: warn(found, source),
            )
        except Refusal as refusal:
            raise told(refusal, source) from refusal.__cause__
        return Run(outcome)

    def explain(self) -> str:
        """What ``pdual explain`` prints."""
        from pdual.explaining.collect import explanation
        from pdual.explaining.render import render

        return "\n".join(line.text for line in render(explanation(self.graph.spec, self.graph)))

    def __repr__(self) -> str:
        counts = [
            f"{data.layout.columns} multipliers a {'group' if data.grouping else 'row'} of {data.data}"
            for data in self.graph.data
        ]
        averages = self.graph.averages.layout.columns
        counts += [f"{averages} of averages"] if averages else []
        return f"<Problem {self.graph.spec.name}: {', '.join(counts) or 'no constraints'}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.explain())}</pre>"


@dataclass(frozen=True)
class Run:
    """A run that ended."""

    outcome: Outcome

    @property
    def metrics(self) -> Metrics:
        """What ``metrics.json`` holds."""
        return self.outcome.metrics

    @property
    def folder(self) -> Path:
        """Where the run was left."""
        return self.outcome.folder.path

    @property
    def feasible(self) -> bool:
        """Whether every train row meets every constraint."""
        return self.outcome.verdict.feasible

    def predict(self, model: str, rows: Mapping[str, Tensor | Sequence[str]]) -> Mapping[str, Tensor | Ragged]:
        """The outputs of a trained model for new rows.

        ``rows`` maps the arguments of its signature to tensors [rows, *axes], complex ones as they are, or texts; outputs come
        back likewise, the only unnamed output as ``""``, ragged (``values``, ``offsets``) where lengths differ from row to row.
        A model without inputs, asked with ``{}``, says one row. Raises KeyError for a model or an argument that is not there,
        ProblemError for one that holds a value of every train row (``free``) and has none for others.
        """
        import torch

        module = self.outcome.run.problem.models[model]
        weight = next((item for item in module.parameters()), torch.zeros(()))
        columns, texts = _columns(rows)
        inputs: dict[str, Tensor | Sequence[str]] = {**texts}
        for part, tensor in columns.items():
            kind = weight.dtype if tensor.is_floating_point() else tensor.dtype
            inputs[part] = tensor.to(device=weight.device, dtype=kind)
        declared = next(item for item in self.outcome.graph.spec.models if item.name == model)
        if answers_by_row(declared.architecture, declared.signature):
            raise told(refuse("PD732", model=model), None)
        if not declared.signature.inputs:
            inputs["@row"] = torch.zeros(1, dtype=torch.long, device=weight.device)
        with torch.no_grad():
            found: Mapping[str, Tensor | Ragged] = module(inputs).outputs
        return {
            name: value.detach() if isinstance(value, torch.Tensor) else value for name, value in _joined(found).items()
        }

    def multipliers(
        self, rows: str | Mapping[str, Tensor | Sequence[str]] = "train", data: str | None = None
    ) -> Mapping[str, Tensor]:
        """Multipliers by part (``voltage.upper``): [rows, entries], scaled.

        ``rows`` names a split, whose multipliers are not a number where rows have none (a constraint on an average has one
        for all of them, [1, 1]); or maps fields to tensors
        [rows, *axes] of new rows (``load.re`` and ``load.im``, or complex; members of sets as positions; what the spec
        standardises as a file would hold it) or to their texts, of the data set ``data`` where there are several. Fields that multipliers
        do not depend on may be left out. Raises KeyError for a field
        that is missing, ProblemError where new rows have no multipliers.
        """
        if not isinstance(rows, str):
            return self._of_new_rows(rows, data)
        found: dict[str, Tensor] = {}
        for lane in self.outcome.run.lanes:
            if rows not in lane.table.splits or data not in (None, lane.name):
                continue
            read = lane.evaluate(rows).multipliers
            if read is not None:
                found |= _by_part(lane.program.layout, read)
        averages = self.outcome.run.averages
        if averages is not None and averages.multipliers.active and data is None:
            found |= _by_part(averages.layout, averages.level)
        return found

    def _of_new_rows(self, rows: Mapping[str, Tensor | Sequence[str]], data: str | None) -> Mapping[str, Tensor]:
        import torch

        from pdual.runtime.data import ColumnTable
        from pdual.runtime.prepare import check_texts
        from pdual.runtime.unseen import look, multiplier_fields, standards_of, text_fields

        outcome = self.outcome
        of_rows = [lane for lane in outcome.run.lanes if lane.program.groups_by is None]
        held = [lane for lane in of_rows if lane.multipliers.active and data in (None, lane.name)]
        if len(held) != 1:
            raise KeyError("data: " + ", ".join(lane.name for lane in of_rows))
        columns, texts = _columns(rows)
        graph = outcome.graph.over(held[0].name)
        needed = multiplier_fields(graph) | text_fields(graph, outcome.graph.spec.data_set(held[0].name))
        missing = sorted(needed - columns.keys() - texts.keys())
        if missing:
            raise KeyError(", ".join(missing))
        columns |= {
            name: item.of(columns[name]) for name, item in standards_of(held[0].table).items() if name in columns
        }
        count = len(next(iter((*columns.values(), *texts.values()))))
        table = ColumnTable(columns, {"new": torch.arange(count)}, "new rows", texts=texts)
        try:
            check_texts(outcome.graph, {held[0].name: table}, outcome.run.problem.models)
            found = look(outcome.run, outcome.graph, held[0], table, multipliers=True).multipliers
        except Refusal as refusal:
            raise told(refusal, None) from refusal.__cause__
        assert found is not None
        return _by_part(held[0].program.layout, found)

    def __repr__(self) -> str:
        return f"<Run of {self.metrics.problem}: {self.metrics.status}, in {self.folder}>"

    def _repr_html_(self) -> str:
        from pdual.cli.results import lines

        return f"<pre>{escape(chr(10).join(lines(self.outcome)))}</pre>"


def _by_part(layout: Layout, values: Tensor) -> dict[str, Tensor]:
    """[rows, columns] as [rows, entries] by part."""
    return {part.name: values[:, layout.columns_of(part)] for part in layout.parts}


def _columns(rows: Mapping[str, Tensor | Sequence[str]]) -> tuple[dict[str, Tensor], dict[str, Sequence[str]]]:
    """Tensors by part, and texts."""
    from torch import Tensor

    columns: dict[str, Tensor] = {}
    texts: dict[str, Sequence[str]] = {}
    for name, value in rows.items():
        if not isinstance(value, Tensor):
            texts[name] = list(value)
        else:
            columns |= {f"{name}.re": value.real, f"{name}.im": value.imag} if value.is_complex() else {name: value}
    return columns, texts


def _joined(outputs: Mapping[str, Any]) -> dict[str, Tensor | Ragged]:
    """Real and imaginary parts as one complex tensor."""
    import torch

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
