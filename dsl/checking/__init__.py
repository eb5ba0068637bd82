"""The checker resolves every name, types every expression and reports every mistake once."""

from pdual.dsl.checking.checker import check

__all__ = ["check"]
