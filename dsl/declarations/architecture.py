"""What an architecture *is*, without building it: settings, features, parameter count."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.sample import Sample
from pdual.dsl.declarations.signature import Signature, Sizes
from pdual.dsl.record import record
from pdual.dsl.types import ArrayType, MemberFeatures


@record(frozen=True, slots=True)
class Complaint:
    """Why a signature does not suit an architecture. ``subject`` names the input, output or setting at fault."""

    subject: str
    expected: str
    found: str


@record(frozen=True, slots=True)
class Architecture:
    """A registered architecture.

    ``complaints`` checks a signature (no complaint: it suits). ``features`` is the type of the penultimate
    representation, None where there is none. ``parameters`` counts trainable numbers, None while a size is not known.
    ``builder`` is ``"module:function"``, called as ``build(signature, settings, context) -> torch.nn.Module`` (see
    ``pdual.runtime.models``). ``convex`` tells whether the mean of any predictors of a signature is one of them too,
    ``by_row`` whether what it answers depends on which row is asked about, besides its inputs.
    ``sample``: what a quick run on sample rows builds where what the settings name is not on this machine.
    """

    name: str
    summary: str
    settings: type[Settings]
    positional: tuple[str, ...]
    complaints: Callable[[Signature, Settings], Iterable[Complaint]]
    features: Callable[[Signature, Settings, Sizes], ArrayType | MemberFeatures | None]
    parameters: Callable[[Signature, Settings, Sizes], int | None]
    builder: str
    convex: Callable[[Signature], bool] = lambda signature: False
    by_row: Callable[[Signature, Settings], bool] = lambda signature, settings: False
    sample: Sample | None = None
