"""Records behave as frozen, slotted dataclasses do."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, field, fields, is_dataclass, replace
from typing import Any

import pytest

from pdual.dsl.record import record


@record(frozen=True, slots=True)
class Pair:
    first: int
    second: Any = 2
    noted: list[str] = field(default_factory=list, compare=False, repr=False, kw_only=True)


def test_it_is_a_dataclass() -> None:
    assert is_dataclass(Pair)
    assert [item.name for item in fields(Pair)] == ["first", "second", "noted"]
    assert replace(Pair(1), second=5) == Pair(1, 5)
    assert repr(Pair(1, "x")) == "Pair(first=1, second='x')"
    match Pair(1, 3):
        case Pair(first, second):
            assert (first, second) == (1, 3)


def test_equality_and_hash_look_at_what_is_compared() -> None:
    assert Pair(1, noted=["a"]) == Pair(1, noted=["b"])
    assert hash(Pair(1, noted=["a"])) == hash(Pair(1, noted=["b"]))
    assert Pair(1) != Pair(2)
    assert Pair(1) != (1, 2)


def test_it_is_frozen() -> None:
    pair: Any = Pair(1)
    with pytest.raises(FrozenInstanceError):
        pair.first = 2
    with pytest.raises(FrozenInstanceError):
        del pair.first
    assert not hasattr(pair, "__dict__")


def test_copies_hold_the_same() -> None:
    pair = Pair(1, [2, 3], noted=["a"])
    for made in (copy.copy(pair), copy.deepcopy(pair), pickle.loads(pickle.dumps(pair))):
        assert made == pair
        assert made.noted == ["a"]
    assert copy.deepcopy(pair).second is not pair.second


def test_wrong_arguments_are_refused() -> None:
    make: Any = Pair
    for arguments, named in (((), {}), ((1, 2, 3), {}), ((1,), {"first": 1}), ((1,), {"third": 1})):
        with pytest.raises(TypeError, match="Pair"):
            make(*arguments, **named)


def test_a_class_with_many_instances_goes_on_as_before() -> None:
    """From some number of instances on, ``__init__`` is another one."""

    @record(frozen=True, slots=True)
    class Often:
        first: int
        second: Any = 2
        noted: list[str] = field(default_factory=list, compare=False, repr=False, kw_only=True)

    make: Any = Often
    before = Often.__init__
    made = [make(number, noted=[str(number)]) for number in range(1_500)]
    assert Often.__init__ is not before
    assert made == [make(number) for number in range(1_500)]
    assert made[-1] == replace(made[0], first=1_499)
    assert (made[-1].noted, make(1).noted, make(1).second) == (["1499"], [], 2)
    assert make(1).noted is not make(1).noted
    for arguments, named in (((), {}), ((1, 2, 3), {}), ((1,), {"first": 1}), ((1,), {"third": 1})):
        with pytest.raises(TypeError, match="Often"):
            make(*arguments, **named)
    with pytest.raises(FrozenInstanceError):
        made[0].first = 2
