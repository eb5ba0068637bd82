"""How a case can end besides holding."""

from __future__ import annotations


class Undefined(Exception):  # noqa: N818
    """A case says nothing: an expression has no value there, or numbers overflow."""


class Falsified(AssertionError):  # noqa: N818 - a counterexample is what is looked for, not an error
    """A claim does not hold for a case: what was claimed and what was found, in one line."""
