"""Generated specs as texts over the small world, read by the whole front end, and what their programs give."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import isnan, nan
from typing import Any
from zlib import crc32

import torch
import world
from spelling import LABELS, family_text, spelled
from tensors import PlainModel, parts_of
from torch import Tensor, nn

from pdual.compiler.assemble import assemble
from pdual.compiler.compile import lower
from pdual.compiler.program import Evaluation
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import part_names
from pdual.dsl.declarations.source import Offer, SourceDeclaration, SourceRole
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.dsl.typed import TypedExpression, TypedFamily
from pdual.dsl.types import ArrayType, RecordType, Type
from pdual.runtime.data.tables import Ragged
from pdual.runtime.models.interface import ModelOutput

Models = Callable[[str, tuple[Any, ...]], Any]

#: The world's given as a source that a text can name, once it is registered.
SOURCE = SourceDeclaration(
    name="world",
    role=SourceRole.GIVEN,
    summary="the structure of the small world",
    settings=Settings,
    positional=(),
    offer=lambda settings: Offer(fields=tuple(world.GIVEN.items())),
    rows=lambda settings: None,
    builder="drafts:none",
)


def _type(kind: Type) -> str:
    if isinstance(kind, RecordType):
        return "{ " + ", ".join(f"{name}: {_type(inner)}" for name, inner in kind.fields) + " }"
    assert isinstance(kind, ArrayType)
    element = getattr(kind.element, "set", None) or str(kind.element)
    return element + (f"[{', '.join(map(str, kind.axes))}]" if kind.axes else "")


def _range(name: str) -> str:
    return " in [{}, {}]".format(*world.ENDS[name]) if name in world.ENDS else ""


@dataclass(frozen=True)
class Statements:
    """The statements of a spec, each a text: of the whole, and of its one block. Lets come in an order in which each may use those before."""

    whole: tuple[str, ...]
    lets: tuple[str, ...]
    inside: tuple[str, ...]

    @property
    def text(self) -> str:
        """The spec."""
        block = "\n".join(("over r in rows {", *(f"  {line}" for line in (*self.lets, *self.inside)), "}"))
        return "\n".join(('problem world "Generated"', *self.whole, block, "solve { outer = 1 }", ""))


def declarations(labels: Mapping[str, Sequence[str]] = LABELS) -> tuple[str, ...]:
    """The statements that declare the world."""
    given = "\n".join(f"  {name}: {_type(kind)}{_range(name)}" for name, kind in world.GIVEN.items())
    rows = "\n".join(f"  {name}: {_type(kind)}" for name, kind in world.FIELDS.items())
    models = [
        f"model {name}({', '.join(f'{argument}: {_type(kind)}' for argument, kind in signature.inputs)})"
        f" -> {_type(world.MODEL_TYPES[name])}"
        for name, signature in world.SIGNATURES.items()
    ]
    return (
        *(f"param {name} = {value}" for name, value in world.PARAMS.items()),
        *(f"set {name} = {{ {', '.join(members)} }}" for name, members in labels.items()),
        f"given g = world() {{\n{given}\n}}",
        f"data rows {{\n{rows}\n}}",
        *models,
    )


def statements(families: Sequence[TypedFamily], objective: TypedExpression) -> Statements:
    """A spec of an objective and families. Each was drawn by itself, so their lets get names of their own."""
    lets: list[str] = []
    inside: list[str] = []
    for place, item in enumerate((objective, *families)):
        own: dict[int, str] = {}
        is_family = isinstance(item, TypedFamily)
        text = f"subject to {family_text(item, own)}" if is_family else f"minimize {spelled(item, own)}"
        names = partial(re.sub, r"\blet(\d+)\b", lambda m, start=100 * place: f"let{start + int(m[1])}")
        lets += map(names, own.values())
        inside.append(names(text))
    return Statements(declarations(), tuple(lets), tuple(inside))


class Scaled(nn.Module):
    """A model of the world whose every output entry is multiplied by 1 + theta, theta = 0: by theta all slopes in it are seen."""

    def __init__(self, name: str, plain: PlainModel) -> None:
        super().__init__()
        self.plain = plain
        self.theta = nn.ParameterDict()
        for output in world.SIGNATURES[name].outputs:
            sizes = [len(world.SETS[axis.set]) for axis in output.type.axes if hasattr(axis, "set")]
            for part in part_names(output.name, output.type):
                self.theta[_key(part)] = nn.Parameter(torch.zeros(sizes, dtype=torch.float64))

    def forward(self, inputs: Mapping[str, Any]) -> ModelOutput:
        """The plain model's outputs, times 1 + theta."""
        found, _ = self.plain(inputs)
        outputs: dict[str, Any] = {}
        for part, value in found.items():
            theta = 1 + self.theta[_key(part)]
            outputs[part] = Ragged(value.values * theta, value.ends) if isinstance(value, Ragged) else value * theta
        return ModelOutput(outputs, {})


def _key(part: str) -> str:
    """A parameter's name has no dots and is not empty."""
    return "o" + part.replace(".", "_")


@dataclass(frozen=True)
class World:
    """The world that a text is run in: members in some order, their known structure, rows, and models."""

    labels: Mapping[str, Sequence[str]] = field(default_factory=lambda: LABELS)
    known: Known = world.KNOWN
    rows: Sequence[Mapping[str, Any]] = world.ROWS
    models: Models = world.models


@dataclass(frozen=True)
class Entry:
    """One entry of a part: left - right of every row in the problem's units, 0 where masked; what it is divided by."""

    residual: Tensor
    scale: float
    ranged: bool


@dataclass(frozen=True)
class Given:
    """What a program gives: the objective of every row, the entries that some row has by part and labels, and the slopes of one sum over all
    rows of the objective and weighted residuals, by model and output.
    """

    objective: Tensor
    entries: Mapping[tuple[str, tuple[str, ...]], Entry]
    slopes: Mapping[str, Tensor]


#: How a variant's part is called in the spec that it came from, and what its residuals were multiplied by.
Origin = Callable[[str], tuple[str, float]]


def same(part: str) -> tuple[str, float]:
    """A part that is what it was."""
    return part, 1.0


def given_by(text: str, place: World | None = None, origin: Origin = same) -> Given | None:
    """What the program of a text gives; None where the text is refused."""
    place = place or World()
    spec, _ = read(Source("world.pdual", text))
    if spec is None:
        return None
    models = nn.ModuleDict({name: Scaled(name, PlainModel(name, place.models)) for name in world.SIGNATURES})
    try:
        graph, _ = lower(spec, {"g": place.known})
        program = assemble(graph, models, torch.float64)[0]
    except Refusal:
        return None
    values: dict[str, Any] = {}
    for name, kind in world.FIELDS.items():
        values |= parts_of(name, [row[name] for row in place.rows], kind)
    found: Evaluation = program.evaluate(values, torch.arange(len(place.rows)))
    assert found.objective is not None
    total = found.objective.sum()
    entries = {}
    column = 0
    for part in program.layout.parts:
        name, factor = origin(part.name)
        ranges = part.range or (nan,) * part.size
        for members, scale, width in zip(part.members, part.scale, ranges, strict=True):
            labels = tuple(place.labels[of][at] for of, at in zip(part.sets, members, strict=True))
            residual = found.residuals[:, column] * scale / factor
            total = total + _weight(name, labels) * residual.sum()
            live = found.mask is None or bool(found.mask[:, column].any())
            if live:
                entries[name, labels] = Entry(residual.detach(), scale / abs(factor), not isnan(width))
            column += 1
    weights = {f"{name}.{key}": theta for name, model in models.items() for key, theta in model.theta.items()}
    slopes: Sequence[Tensor | None] = [None] * len(weights)
    if total.requires_grad:
        slopes = torch.autograd.grad(total, list(weights.values()), allow_unused=True)
    whole = {name: torch.zeros_like(weights[name]) if s is None else s for name, s in zip(weights, slopes, strict=True)}
    return Given(found.objective.detach(), entries, whole)


def _weight(name: str, labels: tuple[str, ...]) -> float:
    """A number between 0.5 and 1.5 that belongs to an entry."""
    return 0.5 + crc32(f"{name}{labels}".encode()) / 2**32
