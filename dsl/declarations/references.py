"""What a setting in a spec may hold besides numbers, texts and lists of them."""

from __future__ import annotations

from dataclasses import field
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict

from pdual.dsl.record import record
from pdual.dsl.spans import NOWHERE, Span
from pdual.dsl.types import ArrayType


class Settings(BaseModel):
    """Base of every settings record: frozen, closed, with room for references."""

    # A spec uses a few of all settings: their validators are built when they first are.
    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True, allow_inf_nan=False
    )


@record(frozen=True, slots=True)
class GivenReference:
    """A whole ``given`` of the spec, by its name: ``power.demands(grid)``."""

    given: str


@record(frozen=True, slots=True)
class GivenField:
    """One field of a ``given``, with its type: in ``gnn(at = at)`` the field ``at``, of type ``bus[gen]``."""

    given: str
    field: str
    type: ArrayType


@record(frozen=True, slots=True)
class FieldName:
    """One field of the data set whose setting this is, and where it is named: ``standardised = [size]``."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@record(frozen=True, slots=True)
class ArchitectureUse:
    """An architecture with its checked settings: ``mlp(hidden = [128])``."""

    architecture: str
    settings: Settings


@record(frozen=True, slots=True)
class OptimiserUse:
    """An optimiser with its checked settings: ``adam(lr = 1e-3)``."""

    optimiser: str
    settings: Settings


SettingValue: TypeAlias = Any
