"""``gnn``: a graph network on known structure, the same graph for every row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import Field

from pdual.dsl.declarations.architecture import Architecture, Complaint
from pdual.dsl.declarations.architecture_vectors import affine, array_complaints, arrays, encoded_width
from pdual.dsl.declarations.references import GivenField, Settings
from pdual.dsl.declarations.signature import Signature, Sizes
from pdual.dsl.record import record
from pdual.dsl.types import ArrayType, MemberFeatures, MemberOf, SetAxis


class GnnSettings(Settings):
    """``gnn(edges = [source, target], at = at, layers = 3, width = 32)``.

    ``edges`` are the two maps from edges to the nodes at their ends; ``at`` maps a third set (generators) to
    nodes.
    """

    edges: tuple[GivenField, GivenField]
    at: GivenField | None = None
    layers: int = Field(default=3, ge=1)
    width: int = Field(default=32, ge=1)


@record(frozen=True, slots=True)
class GraphSets:
    """The index sets of the structure: ``bus``, ``branch`` and, where ``at`` is given, ``gen``."""

    node: str
    edge: str
    attached: str | None


def map_sets(array: ArrayType) -> tuple[str, str] | None:
    """Domain and range of ``range[domain]``; None when the type is no map between sets."""
    if isinstance(array.element, MemberOf) and len(array.axes) == 1 and isinstance(array.axes[0], SetAxis):
        return array.axes[0].set, array.element.set
    return None


def graph_sets(settings: GnnSettings) -> GraphSets | None:
    """The sets of checked settings; None when the maps do not fit together."""
    source, target = (map_sets(end.type) for end in settings.edges)
    if source is None or source != target:
        return None
    edge, node = source
    if settings.at is None:
        return GraphSets(node, edge, None)
    at = map_sets(settings.at.type)
    if at is None or at[1] != node:
        return None
    return GraphSets(node, edge, at[0])


def member_set(array: ArrayType) -> str | None:
    """The set of the first axis: one entry for each of its members. None: one value for the whole row."""
    return array.axes[0].set if array.axes and isinstance(array.axes[0], SetAxis) else None


def member_width(array: ArrayType, sizes: Sizes) -> int | None:
    """Real numbers a member (or the row) has."""
    return encoded_width(ArrayType(array.element, array.axes[1:]) if member_set(array) else array, sizes)


def feature_width(sets: GraphSets, name: str, width: int) -> int:
    """Width of what is known of a member: a node's own state; of an edge the states of both ends."""
    return 2 * width if name == sets.edge else width


def _complaints(signature: Signature, settings: Settings) -> Iterable[Complaint]:
    assert isinstance(settings, GnnSettings)
    sets = graph_sets(settings)
    if sets is None:
        yield from _map_complaints(settings)
        return
    sources = [sets.node] if sets.attached is None else [sets.node, sets.attached]
    refused = list(array_complaints(signature))
    yield from refused
    subjects = {complaint.subject for complaint in refused}
    for name, array in arrays(signature):
        if name not in subjects and not _suits(array, sources):
            yield Complaint(name, _expected(sources), str(array))
    for output in signature.outputs:
        subject = output.name or "output"
        if subject not in subjects and not _suits(output.type, [*sources, sets.edge]):
            yield Complaint(subject, _expected([*sources, sets.edge]), str(output.type))
    if not any(isinstance(array, ArrayType) and member_set(array) in sources for _, array in signature.inputs):
        yield Complaint("inputs", f"at least one input on {_either(sources)}", "none")


def _map_complaints(settings: GnnSettings) -> Iterator[Complaint]:
    source, target = (map_sets(end.type) for end in settings.edges)
    for end, sets in zip(settings.edges, (source, target), strict=True):
        if sets is None:
            yield Complaint("edges", "maps from edges to nodes, like `bus[branch]`", _shown(end))
    if source is not None and target is not None and source != target:
        found = " and ".join(map(_shown, settings.edges))
        yield Complaint("edges", "two maps with the same sets", found)
    if settings.at is not None:
        at = map_sets(settings.at.type)
        if at is None or (source is not None and at[1] != source[1]):
            node = source[1] if source is not None else "bus"
            yield Complaint("at", f"a map to nodes, like `{node}[gen]`", _shown(settings.at))


def _shown(end: GivenField) -> str:
    return f"{end.field}: {end.type}"


def _suits(array: ArrayType, sets: list[str]) -> bool:
    if not array.axes:
        return True
    return member_set(array) in sets and not any(isinstance(axis, SetAxis) for axis in array.axes[1:])


def _expected(sets: list[str]) -> str:
    return f"one value for each member of {_either(sets)}, or one for the row"


def _either(sets: list[str]) -> str:
    return " or ".join(f"`{name}`" for name in sets)


def _features(signature: Signature, settings: Settings, sizes: Sizes) -> MemberFeatures:
    assert isinstance(settings, GnnSettings)
    sets = graph_sets(settings)
    assert sets is not None
    names = [sets.node, sets.edge] if sets.attached is None else [sets.node, sets.attached, sets.edge]
    return MemberFeatures(tuple((name, feature_width(sets, name, settings.width)) for name in names))


def _parameters(signature: Signature, settings: Settings, sizes: Sizes) -> int | None:
    """Read-in, node embeddings, layers (norm, three maps of what is seen, one more), last norm, readouts."""
    assert isinstance(settings, GnnSettings)
    sets = graph_sets(settings)
    assert sets is not None
    side, nodes = settings.width, sizes.get(sets.node)
    inputs = [member_width(array, sizes) for _, array in arrays(signature)]
    known = [numbers for numbers in inputs if numbers is not None]
    if nodes is None or len(known) < len(inputs):
        return None
    layer = 2 * side + 2 * side * side + affine(side, side) + affine(side, side)
    total = affine(sum(known), side) + nodes * side + settings.layers * layer + 2 * side
    for output in signature.outputs:
        name, numbers = member_set(output.type), member_width(output.type, sizes)
        members = 1 if name is None else sizes.get(name)
        if numbers is None or members is None:
            return None
        total += members * affine(side if name is None else feature_width(sets, name, side), numbers)
    return total


GNN = Architecture(
    name="gnn",
    summary="a graph network on a known graph: values on nodes in, on nodes, edges or what is attached out",
    settings=GnnSettings,
    positional=("edges",),
    complaints=_complaints,
    features=_features,
    parameters=_parameters,
    builder="pdual.runtime.models.gnn:build",
)
