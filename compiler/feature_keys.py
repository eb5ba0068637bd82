"""What the features of model calls are called."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.dsl import typed
from pdual.dsl.types import ArrayType, FixedAxis, MemberFeatures, RaggedAxis, SetAxis


class FeatureKeys:
    """Names the features that duals read: ``dispatch``, or ``dispatch/bus`` per member; a second call of one model is ``dispatch#2``."""

    def __init__(self, types: Mapping[str, ArrayType | MemberFeatures]) -> None:
        self.types = types
        self._calls: dict[str, list[typed.ModelCall]] = {}

    def key(self, call: typed.ModelCall) -> str:
        """The name of one call's features."""
        calls = self._calls.setdefault(call.model, [])
        if call not in calls:
            calls.append(call)
        position = calls.index(call)
        return call.model if position == 0 else f"{call.model}#{position + 1}"

    def entries(self, call: typed.ModelCall) -> Mapping[str, tuple[FixedAxis | SetAxis | RaggedAxis, ...]]:
        """Every tensor of one call's features with its inner axes."""
        kind, key = self.types[call.model], self.key(call)
        if isinstance(kind, MemberFeatures):
            return {f"{key}/{name}": (SetAxis(name), FixedAxis(width)) for name, width in kind.widths}
        return {key: kind.axes}  # type: ignore[dict-item]
