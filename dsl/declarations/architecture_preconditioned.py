"""``preconditioned``: a network whose output is a correction, in the metric of the constraints."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from pdual.dsl.declarations.architecture import Architecture, Complaint
from pdual.dsl.declarations.references import ArchitectureUse, Settings
from pdual.dsl.declarations.registry import architectures
from pdual.dsl.declarations.signature import Signature, Sizes
from pdual.dsl.types import ArrayType, GraphType, Kind, MemberFeatures


class PreconditionedSettings(Settings):
    """``preconditioned(mlp(hidden = [256, 256]), start = [1.0, 0.0])``.

    The outputs are ``y0 + M z`` with ``z`` what ``proposer`` says. ``start`` is one value for all outputs or one for each: the
    real value from which ``y0``, a point that meets the constraints of ``rows`` rows as well as it can, is looked for.
    """

    proposer: ArchitectureUse
    start: tuple[float, ...] = (0.0,)
    rows: int = Field(default=16, ge=1)


def _complaints(signature: Signature, settings: Settings) -> Iterable[Complaint]:
    assert isinstance(settings, PreconditionedSettings)
    for output in signature.outputs:
        if output.low is not None or output.high is not None:
            yield Complaint(output.name, "an output without a range: its limits are constraints", "a range")
        if output.type.element not in (Kind.REAL, Kind.COMPLEX):
            yield Complaint(output.name, "real or complex numbers", str(output.type))
    for name, type in signature.inputs:
        if isinstance(type, GraphType):
            yield Complaint(name, "numbers on sets or fixed axes", str(type))
    if len(settings.start) not in (1, len(signature.outputs)):
        expected = f"1 or {len(signature.outputs)} values, one for each output"
        yield Complaint("start", expected, f"{len(settings.start)} values")
    proposer = architectures()[settings.proposer.architecture]
    yield from proposer.complaints(signature, settings.proposer.settings)


def _features(signature: Signature, settings: Settings, sizes: Sizes) -> ArrayType | MemberFeatures | None:
    assert isinstance(settings, PreconditionedSettings)
    return architectures()[settings.proposer.architecture].features(signature, settings.proposer.settings, sizes)


def _parameters(signature: Signature, settings: Settings, sizes: Sizes) -> int | None:
    assert isinstance(settings, PreconditionedSettings)
    return architectures()[settings.proposer.architecture].parameters(signature, settings.proposer.settings, sizes)


def _by_row(signature: Signature, settings: Settings) -> bool:
    assert isinstance(settings, PreconditionedSettings)
    return architectures()[settings.proposer.architecture].by_row(signature, settings.proposer.settings)


PRECONDITIONED = Architecture(
    name="preconditioned",
    summary="a network that predicts a correction to a feasible point, in the metric of the constraints",
    settings=PreconditionedSettings,
    positional=("proposer",),
    complaints=_complaints,
    features=_features,
    parameters=_parameters,
    builder="pdual.runtime.models.preconditioned:build",
    by_row=_by_row,
)
