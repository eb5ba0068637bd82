"""Many texts: `check` gives diagnostics or a model and nothing else, `fmt` keeps the tree and every comment.

By default 400 sentences of the grammar and 400 changed specs, by ``.ci/run`` 2,000, by `pytest -m long` 50,000 of each (``examples``
says how to change that), in pieces for `-n 2`.
"""

from __future__ import annotations

from collections.abc import Callable

import layouts
import pytest
from examples import EXAMPLES, LONG_EXAMPLES, changed, commented, drawn, pieces

from pdual.dsl.catalogue import CATALOGUE, errors_in
from pdual.dsl.formatting.layout import formatted
from pdual.dsl.parser import parse
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source

Make = Callable[[int], str]


def hold(text: str) -> bool:
    """Assert what `check` and `fmt` promise of any text; whether it could be read."""
    source = Source("example.pdual", text)
    spec, found = read(source)
    assert spec is not None or errors_in(found)
    for item in found:
        assert item.code in CATALOGUE
        assert all(0 <= span.start <= span.end <= len(text) for span in (item.span, *(it.span for it in item.labels)))
    assert len(render_all(found, source)) < 1_000_000
    if parse(source)[1]:
        assert formatted(source)[0] is None
        return False
    layouts.hold(text)
    return True


def hold_all(make: Make, numbers: range) -> int:
    """How many of them could be read."""
    readable = 0
    for number in numbers:
        try:
            readable += hold(make(number))
        except Exception as error:
            raise AssertionError(f"examples.{make.__name__}({number})") from error
    return readable


@pytest.mark.parametrize("numbers", pieces(EXAMPLES, 250), ids=str)
@pytest.mark.parametrize("make", [changed, drawn])
def test_any_text(make: Make, numbers: range) -> None:
    readable = hold_all(make, numbers)
    assert readable > len(numbers) / (3 if make is drawn else 20)


@pytest.mark.parametrize("numbers", pieces(EXAMPLES // 10, 250), ids=str)
def test_comments_anywhere(numbers: range) -> None:
    assert hold_all(commented, numbers) == len(numbers)


@pytest.mark.long
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("numbers", pieces(LONG_EXAMPLES, 1_000), ids=str)
@pytest.mark.parametrize("make", [changed, drawn])
def test_very_many_texts(make: Make, numbers: range) -> None:
    hold_all(make, numbers)


@pytest.mark.long
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("numbers", pieces(LONG_EXAMPLES // 10, 1_000), ids=str)
def test_comments_anywhere_very_often(numbers: range) -> None:
    assert hold_all(commented, numbers) == len(numbers)


def test_a_number_is_a_text_and_another_is_another() -> None:
    assert drawn(3) == drawn(3)
    assert len({drawn(number) for number in range(50)} | {changed(number) for number in range(50)}) > 95
    assert [len(item) for item in pieces(2_001, 250)] == [250] * 8 + [1]
