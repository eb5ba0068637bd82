"""``power.completed``: a network proposes generator set points, Newton steps complete them."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from pdual.dsl.declarations.architecture import Architecture, Complaint
from pdual.dsl.declarations.references import ArchitectureUse, GivenReference, Settings
from pdual.dsl.declarations.registry import architectures
from pdual.dsl.declarations.signature import Output, Signature, Sizes
from pdual.dsl.record import record
from pdual.dsl.types import ArrayType, GraphType, Kind, MemberFeatures, SetAxis


class PowerCompletedSettings(Settings):
    """``power.completed(grid, gnn(...), steps = 2)``.

    ``proposer`` is the architecture that proposes active power and voltage of each unit. A proposal may leave
    its box by ``overshoot`` times half the box's width, so that its limits can bind; a unit whose box has no
    width moves within ``play`` (per unit) around it. ``steps`` counts chord-Newton steps.
    """

    grid: GivenReference
    proposer: ArchitectureUse
    steps: int = Field(default=2, ge=1)
    overshoot: float = Field(default=0.2, gt=0)
    play: float = Field(default=0.1, gt=0)


@record(frozen=True, slots=True)
class PowerNames:
    """What the arguments and outputs of the model are called, and its sets: recognised by type."""

    load: str
    voltage: str
    power: str
    bus: str
    unit: str


def power_names(signature: Signature) -> PowerNames | None:
    """``(load: complex[bus]) -> { v: complex[bus], s: complex[gen] }`` under any names; else None."""
    if len(signature.inputs) != 1 or len(signature.outputs) != 2:
        return None
    load, array = signature.inputs[0]
    bus = _complex_on(array)
    sets = {output.name: _complex_on(output.type) for output in signature.outputs}
    voltages = [name for name, found in sets.items() if found is not None and found == bus]
    powers = [(name, found) for name, found in sets.items() if found is not None and found != bus]
    if bus is None or len(voltages) != 1 or len(powers) != 1:
        return None
    ((power, unit),) = powers
    return PowerNames(load, voltages[0], power, bus, unit)


def proposal_signature(signature: Signature) -> Signature:
    """What the proposer is asked for: two raw numbers a unit, ``p`` and ``v``."""
    names = power_names(signature)
    assert names is not None
    per_unit = ArrayType(Kind.REAL, (SetAxis(names.unit),))
    return Signature(signature.inputs, (Output("p", per_unit), Output("v", per_unit)))


def _complex_on(array: ArrayType | GraphType) -> str | None:
    if isinstance(array, ArrayType) and array.element is Kind.COMPLEX and len(array.axes) == 1:
        axis = array.axes[0]
        return axis.set if isinstance(axis, SetAxis) else None
    return None


def _complaints(signature: Signature, settings: Settings) -> Iterable[Complaint]:
    assert isinstance(settings, PowerCompletedSettings)
    if power_names(signature) is not None:
        for output in signature.outputs:
            if output.low is not None or output.high is not None:
                yield Complaint(output.name, "an output without a range: its limits are constraints", "a range")
        proposer = architectures()[settings.proposer.architecture]
        yield from proposer.complaints(proposal_signature(signature), settings.proposer.settings)
        return
    if len(signature.inputs) != 1:
        yield Complaint("inputs", "one input, the demand `complex[bus]`", f"{len(signature.inputs)} inputs")
    elif _complex_on(signature.inputs[0][1]) is None:
        yield Complaint(signature.inputs[0][0], "the demand `complex[bus]`", str(signature.inputs[0][1]))
    else:
        found = ", ".join(str(output.type) for output in signature.outputs)
        yield Complaint("outputs", "the voltage `complex[bus]` and the power `complex[gen]`", found)


def _features(signature: Signature, settings: Settings, sizes: Sizes) -> ArrayType | MemberFeatures | None:
    assert isinstance(settings, PowerCompletedSettings)
    proposer = architectures()[settings.proposer.architecture]
    return proposer.features(proposal_signature(signature), settings.proposer.settings, sizes)


def _parameters(signature: Signature, settings: Settings, sizes: Sizes) -> int | None:
    assert isinstance(settings, PowerCompletedSettings)
    proposer = architectures()[settings.proposer.architecture]
    return proposer.parameters(proposal_signature(signature), settings.proposer.settings, sizes)


POWER_COMPLETED = Architecture(
    name="power.completed",
    summary="generator set points from a network, completed to voltages and powers by Newton steps",
    settings=PowerCompletedSettings,
    positional=("grid", "proposer"),
    complaints=_complaints,
    features=_features,
    parameters=_parameters,
    builder="pdual.packs.power.models.completed:build",
)
