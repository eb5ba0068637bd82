"""From an architecture named in a spec to a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import nn

from pdual.dsl.declarations.architecture_plain import ROWS
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import ArchitectureUse, Settings
from pdual.dsl.declarations.registry import architectures
from pdual.dsl.declarations.signature import Signature, Sizes
from pdual.dsl.diagnostics import refuse
from pdual.dsl.extensions import named
from pdual.dsl.spans import NOWHERE, Span
from pdual.runtime.data.context import ArchitectureContext
from pdual.runtime.system.memory import check_room

#: Bytes that training keeps of a parameter: itself, its gradient, and two moments, in single precision.
KEPT = 16

Builder = Callable[[Signature, Settings, ArchitectureContext], nn.Module]


def build_model(
    use: ArchitectureUse,
    signature: Signature,
    sizes: Sizes,
    knowns: Mapping[str, Known],
    rows: int,
    span: Span = NOWHERE,
) -> nn.Module:
    """Build the network that an ``ArchitectureUse`` names, for a signature that it was checked against.

    ``rows`` is the number of rows of the data set that it is called on, ``span`` where the model is declared. Raises a Refusal with PD999 when the
    network has another number of trainable parameters than its declaration says, which would make ``explain``
    and the theory's counts wrong.
    """
    declaration = architectures()[use.architecture]

    def nested(inner: ArchitectureUse, asked: Signature) -> nn.Module:
        return build_model(inner, asked, sizes, knowns, rows, span)

    declared = declaration.parameters(signature, use.settings, {**sizes, ROWS: rows})
    if declared is not None:
        check_room(f"`{use.architecture}` with {declared:,} parameters", declared, KEPT, span)
    context = ArchitectureContext(sizes, knowns, rows, nested, span=span)
    build: Builder = named(declaration.builder)
    model = build(signature, use.settings, context)
    found = count_parameters(model)
    if declared is not None and found != declared:
        error = f"`{use.architecture}` has {found} parameters and declares {declared}"
        raise refuse("PD999", stage="building a model", error=error)
    return model


def count_parameters(model: nn.Module) -> int:
    """How many numbers of a model are trained."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
