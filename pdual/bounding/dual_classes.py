"""The classes that multipliers of a run are from, and their complexities on its train rows.

Their complexity is that of Assumption 7 of Boero, Nixon and Ribeiro.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf, sqrt

from torch import nn

from pdual.bounding.networks import Signs, Watched, is_covered
from pdual.bounding.pairs import Pair, each, nothing, together
from pdual.compiler.compile import interval_analysis
from pdual.compiler.graph import DualChoice, Graph
from pdual.compiler.prediction import Breaks, Predictions
from pdual.dsl.declarations.dual import FunctionClass
from pdual.dsl.declarations.registry import duals
from pdual.restoring import Restored
from pdual.runtime.duals.learned import LearnedStore
from pdual.runtime.duals.network import FlatNetwork, MemberNetwork
from pdual.runtime.training.training_sets import TrainingSet


class DualClass(ABC):
    """The multipliers of one plan; ``watched`` are the networks that have to be evaluated on every row, once."""

    def __init__(self, half: float) -> None:
        self._half = half
        self.watched: list[Watched] = []

    @abstractmethod
    def pair(self, rows: int) -> Pair:
        """The complexity of the column where it is largest."""


class Constants(DualClass):
    """One number for all rows, in a range: half its width times E |mean of signs|."""

    def pair(self, rows: int) -> Pair:
        """At most half / sqrt N."""
        return Pair(self._half / sqrt(rows), inf)


class Table(DualClass):
    """A number of its own for every row."""

    def pair(self, rows: int) -> Pair:
        """Half the width of the range, however many rows there are."""
        return nothing("a table has a number of its own for every row").within(self._half)


class Unknown(DualClass):
    """Functions of a kind that does not declare which they are."""

    def __init__(self, half: float, kind: str) -> None:
        super().__init__(half)
        self._kind = kind

    def pair(self, rows: int) -> Pair:
        """Half the width of the range: no function in it is further."""
        return nothing(f"not known: `{self._kind}` does not declare which functions its multipliers are").within(
            self._half
        )


class Learned(DualClass):
    """A network on features, clipped into the range: clipping is a contraction. Features are as trained."""

    def __init__(self, half: float, store: LearnedStore, signs: Signs) -> None:
        super().__init__(half)
        phi = store.phi
        assert isinstance(phi, FlatNetwork | MemberNetwork)
        self._offset = float(phi.bias.detach().abs().max())
        networks: Sequence[nn.Module] = [phi.network] if isinstance(phi, FlatNetwork) else list(phi.networks)
        self._why = next((_uncovered(type(item).__name__.lower()) for item in networks if not is_covered(item)), "")
        if not self._why:
            self.watched = [Watched(network, signs) for network in networks]

    def pair(self, rows: int) -> Pair:
        """Of the network, and |offset| / sqrt N for the offset that every column has beside it."""
        if self._why:
            return nothing(self._why).within(self._half)
        found = each(self.watched, rows)
        offset = self._offset / sqrt(rows)
        return Pair(found.bound + offset, found.estimate + offset).within(self._half)


class Formula(DualClass):
    """A formula over models of its own: by its Lipschitz constant in what they say."""

    def __init__(self, half: float, restored: Restored, choice: DualChoice, signs: Signs) -> None:
        super().__init__(half)
        self._slope, self._alone, self._why = _steepest(restored.graph, choice)
        models = {name: restored.run.problem.models[name] for name in sorted(choice.models)}
        self._why = self._why or next((_uncovered(name) for name, item in models.items() if not is_covered(item)), "")
        if not self._why:
            self.watched = [Watched(model, signs) for model in models.values()]

    def pair(self, rows: int) -> Pair:
        """Of the models, times the constant."""
        if self._why:
            return nothing(self._why).within(self._half)
        # Where each multiplier reads one output alone, contraction needs no sign for the others.
        found = each(self.watched, rows) if self._alone else together(self.watched, rows)
        return found.times(self._slope).within(self._half)


def dual_classes(restored: Restored, training_set: TrainingSet, signs: Signs) -> list[DualClass]:
    """Those of the multipliers of one data set, their networks watched from now on."""
    choices = {choice.parts: choice for choice in restored.graph.over(training_set.name).duals}
    classes: list[DualClass] = []
    for plan, store in zip(training_set.multipliers.plans, training_set.multipliers.stores, strict=True):
        equal = training_set.multipliers.lagrangian.equal
        places = [training_set.multipliers.active.index(column) for column in plan.columns]
        half = plan.cap * (1.0 if bool(equal[places].any()) else 0.5)
        match duals()[plan.kind].functions:
            case FunctionClass.NETWORKS:
                assert isinstance(store, LearnedStore)
                classes.append(Learned(half, store, signs))
            case FunctionClass.FORMULAS:
                classes.append(Formula(half, restored, choices[plan.parts], signs))
            case FunctionClass.CONSTANTS:
                classes.append(Constants(half))
            case FunctionClass.ZERO:
                classes.append(Constants(0.0))
            case FunctionClass.TABLES:
                classes.append(Table(half))
            case FunctionClass.UNKNOWN:
                classes.append(Unknown(half, plan.kind))
    return classes


def _steepest(graph: Graph, choice: DualChoice) -> tuple[float, bool, str]:
    """The largest Lipschitz constant of a formula's entries in what its models say; whether none reads more than one output; what breaks
    the rules.
    """
    rules = Predictions(interval_analysis(graph.spec, graph.knowns, graph.sizes))
    parts = {part.layout.name: part for data in graph.data for part in data.parts}
    steepest, read = 0.0, 0
    for formula in choice.formulas:
        for members in parts[formula.part].layout.members:
            at = dict(zip(formula.axes, members, strict=True))
            try:
                steepest = max(steepest, rules.lipschitz(formula.value, at))
                read = max(read, len(rules.gradient(formula.value, at)))
            except Breaks as reason:
                return inf, False, f"not covered: no Lipschitz constant of the formula: {reason.why}"
    return steepest, read <= 1, ""


def _uncovered(name: str) -> str:
    return f"not covered: no standard bound for the network `{name}`"
