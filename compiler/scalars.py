"""How the elements of a language's arrays are held."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.compiler.ir import Scalar
from pdual.dsl.types import Element, Kind, MemberOf

SCALARS: Mapping[Kind, Scalar] = {
    Kind.REAL: Scalar.REAL,
    Kind.COMPLEX: Scalar.REAL,
    Kind.INT: Scalar.INT,
    Kind.BOOL: Scalar.BOOL,
    Kind.TEXT: Scalar.OPAQUE,
    Kind.ID: Scalar.INT,
}


def scalar_of(element: Element) -> Scalar:
    """How an element is held; a member of a set is its position."""
    return Scalar.INT if isinstance(element, MemberOf) else SCALARS[element]
