"""What a claim is, and its registry's entry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pdual.verifying.case import NumbersCase, RowsCase
from pdual.verifying.subject import Subject

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Case: TypeAlias = RowsCase | NumbersCase


@dataclass(frozen=True)
class Claim:
    """One claim about a spec.

    ``cases`` maps a subject to the strategies of its cases, by what they are about (a data set, a dual); ``check`` raises Falsified where
    the claim does not hold for a case, Undefined where the case says nothing. Only ``every`` so many cases are checked: a claim whose
    check takes many evaluations. ``of_run``: about trained networks, so only with a run.
    """

    name: str
    statement: str
    cases: Callable[[Subject], dict[str, SearchStrategy[Case]]]
    check: Callable[[Subject, Case], None]
    kind: type[RowsCase] | type[NumbersCase]
    every: int = 1
    of_run: bool = False
