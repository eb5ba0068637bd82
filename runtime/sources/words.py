"""Words in a column where the spec wants numbers or members of a set: what may be written instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pdual.dsl.near import nearest
from pdual.dsl.parser import parse
from pdual.dsl.spans import Source
from pdual.dsl.typed import TypedField
from pdual.dsl.types import ArrayType, Kind, MemberOf
from pdual.runtime.sources.scalars import number

#: Members that a declaration is written out for; a column of more words is more likely a key than a category.
MOST = 12
#: Members that are named of a set.
SHOWN = 8

Facts = Mapping[str, object]


def advice(field: TypedField, values: Sequence[Any], bad: Sequence[int], sets: Mapping[str, Sequence[str]]) -> Facts:
    """Facts of PD535 about the words in a column, [rows]; ``bad`` are the rows that do not fit, at least one. None where no words
    are what is wrong: a gap, a number out of range.
    """
    assert isinstance(field.type, ArrayType)
    element = field.type.element
    if isinstance(element, MemberOf):
        return _of_a_set(element.set, values[bad[0]], sets.get(element.set, ()))
    if element not in (Kind.REAL, Kind.INT):
        return {}
    words = list(dict.fromkeys(word.strip() for value in values for word in _texts(value)))
    if len(bad) < len(values) or not words or any(_is_number(word) for word in words):
        return {}
    shown = ", ".join(f"`{word}`" for word in words[:SHOWN]) + (", ..." if len(words) > SHOWN else "")
    found: dict[str, object] = {"words": shown, "kinds": len(words)}
    if len(words) > MOST:
        return found | {"key": "words have no order"}
    fits = next((name for name, labels in sets.items() if set(words) <= set(labels)), None)
    name = fits or _new_name(field.name, sets)
    retyped = f"{field.name}: {replace(field.type, element=MemberOf(name))}"
    if fits is not None:
        return found | {"retyped": retyped}
    declaration = f"set {name} = {{ {', '.join(words)} }}"
    if not _is_spec(declaration):  # members are names, and no words of the language
        return found | {"unnamed": True}
    return found | {"declaration": declaration, "retyped": retyped}


def _is_spec(declaration: str) -> bool:
    """Whether a spec may say this. Names are of ASCII: what is not is never parsed, since JSON can write halves of letters."""
    return declaration.isascii() and not parse(Source("", f"problem p\n{declaration}\n"))[1]


def _of_a_set(name: str, value: Any, labels: Sequence[str]) -> Facts:
    word = next((text.strip() for text in _texts(value) if text.strip() not in labels), "")
    if not word or not labels or all(label.isdigit() for label in labels):
        return {}
    shown = ", ".join(f"`{label}`" for label in labels[:SHOWN]) + (", ..." if len(labels) > SHOWN else "")
    near = nearest(word, labels)
    grown = f"set {name} = {{ {', '.join((*labels, word))} }}"
    fits = near is None and len(labels) < MOST and _is_spec(grown)
    return {"set": name, "members": shown, "near": near, "declaration": grown if fits else None}


def _texts(value: Any) -> Sequence[str]:
    """The texts in one row's value, whole or as a list."""
    items = [value] if isinstance(value, str) else value if isinstance(value, list | tuple) else []
    return [item for item in items if isinstance(item, str) and item.strip()]


def _is_number(word: str) -> bool:
    return number(word) is not None


def _new_name(field: str, sets: Mapping[str, Sequence[str]]) -> str:
    """A name that no set has and that is no type's."""
    taken = {*sets, *(str(kind) for kind in Kind)}
    return next(name for name in (field, f"{field}_kind", f"{field}_set") if name not in taken)
