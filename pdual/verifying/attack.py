"""One claim under attack: cases are drawn, and the first that breaks it is made as small as it gets."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import hypothesis
from hypothesis import HealthCheck, Phase

from pdual.runtime.data.context import Progress
from pdual.verifying.claim import Case, Claim
from pdual.verifying.outcomes import Falsified, Undefined
from pdual.verifying.subject import Subject

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


#: Seconds after which a counterexample is small enough.
SHRINKING = 10.0


@dataclass(frozen=True)
class Counterexample:
    """A claim that fell: about what, the smallest case that was found, and what was found there."""

    claim: Claim
    about: str
    case: Case
    found: str


@dataclass(frozen=True)
class Attack:
    """What an attack came to: cases tried, those that said nothing, seconds, and a counterexample where there is one."""

    claim: Claim
    tried: int
    silent: int
    seconds: float
    counterexample: Counterexample | None


#: Says nothing of how far an attack is.
SILENT = Progress()


def attack(
    claims: Sequence[Claim], subject: Subject, examples: int, seed: int, progress: Progress = SILENT
) -> list[Attack]:
    """Try claims on ``examples`` cases for each thing that they are about; claims with the same cases are tried on them together."""
    together: dict[object, list[Claim]] = {}
    for claim in claims:
        together.setdefault(claim.cases, []).append(claim)
    attacks = [item for group in together.values() for item in _attack(group, subject, examples, seed, progress)]
    found = {item.claim.name: item for item in attacks}
    return [found[claim.name] for claim in claims]


def repeat(claim: Claim, subject: Subject, about: str, case: Case) -> Counterexample | None:
    """Check one case again."""
    trial = Trial([Tally(claim)], subject, about)
    try:
        trial(case)
    except Falsified:
        return trial.fallen
    return None


@dataclass
class Tally:
    """What was counted of one claim."""

    claim: Claim
    tried: int = 0
    silent: int = 0
    seconds: float = 0.0
    counterexample: Counterexample | None = None


def _attack(claims: Sequence[Claim], subject: Subject, examples: int, seed: int, progress: Progress) -> list[Attack]:
    tallies = [Tally(claim) for claim in claims]
    for about, cases in claims[0].cases(subject).items():
        standing = [tally for tally in tallies if tally.counterexample is None]
        while standing:
            trial = Trial(standing, subject, about, progress)
            progress.start(f"{about}: {', '.join(tally.claim.name for tally in standing)}", examples)
            _search(trial, cases, examples, seed)
            progress.finish()
            if trial.fallen is None:
                break
            fallen = next(tally for tally in standing if tally.claim is trial.fallen.claim)
            fallen.counterexample = trial.fallen
            standing.remove(fallen)
    return [Attack(t.claim, t.tried, t.silent, t.seconds, t.counterexample) for t in tallies]


def _search(trial: Trial, cases: SearchStrategy[Case], examples: int, seed: int) -> None:
    settings = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        verbosity=hypothesis.Verbosity.quiet,
        print_blob=False,
    )

    def one(case: Case) -> None:
        trial(case)

    with warnings.catch_warnings(), suppress(Falsified, Enough):
        warnings.simplefilter("ignore")
        hypothesis.seed(seed)(settings(hypothesis.given(cases)(one)))()


class Enough(BaseException):
    """Making a counterexample smaller has taken long enough."""


class Trial:
    """Checks the claims that stand on one case after another. After the first that fell only that one is checked: its case is being
    made smaller. Whatever a program raises is a counterexample too: it should have had a value.
    """

    def __init__(self, tallies: Sequence[Tally], subject: Subject, about: str, progress: Progress = SILENT) -> None:
        self._tallies = tallies
        self._subject = subject
        self._about = about
        self._progress = progress
        # Where all that are tried are tried rarely, no case is drawn for nothing.
        self._often = min(tally.claim.every for tally in tallies)
        self._cases = 0
        self._fell = 0.0
        self.fallen: Counterexample | None = None

    def __call__(self, case: Case) -> None:
        """Check a case. Raises Falsified."""
        if self.fallen is not None:
            if perf_counter() - self._fell > SHRINKING:
                raise Enough
            self._check(self.fallen.claim, case)
            return
        self._cases += 1
        for tally in self._tallies:
            if (self._cases - 1) % (tally.claim.every // self._often) == 0:
                started = perf_counter()
                tally.tried += 1
                try:
                    tally.silent += not self._check(tally.claim, case)
                finally:
                    tally.seconds += perf_counter() - started
        self._progress.advance()

    def _check(self, claim: Claim, case: Case) -> bool:
        """Whether the case said anything."""
        try:
            claim.check(self._subject, case)
        except Undefined:
            return False
        except Falsified as found:
            self._fall(claim, case, str(found))
        except (ArithmeticError, ValueError, TypeError, LookupError, AssertionError, RuntimeError) as error:
            self._fall(claim, case, f"{type(error).__name__}: {error}".splitlines()[0])
        return True

    def _fall(self, claim: Claim, case: Case, found: str) -> None:
        if self.fallen is None:
            self._fell = perf_counter()
        self.fallen = Counterexample(claim, self._about, case, found)
        raise Falsified(found)
