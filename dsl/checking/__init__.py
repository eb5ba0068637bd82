"""The checker: every name resolved, every expression with its type, every mistake told once."""

from pdual.dsl.checking.checker import check

__all__ = ["check"]
