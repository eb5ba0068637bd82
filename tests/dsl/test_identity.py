"""A spec is known by its words: layout and comments do not make another one, anything else does."""

from __future__ import annotations

import hashlib

import pytest

from pdual.dsl.identity import spec_hash

TEXT = """problem small "A small one"   # of no size
param a = 0.5
over r in d { minimize a * f(r.x) - 1 }
"""


@pytest.mark.parametrize(
    "other",
    [
        TEXT.replace("   # of no size", ""),
        "# first of all\n" + TEXT.replace("\n", "\r\n"),
        TEXT.replace("{ ", "{\n    ").replace(" }", "\n  # here\n}"),
        TEXT.replace("a * f", "a*f"),
    ],
)
def test_the_same_words_are_the_same_spec(other: str) -> None:
    assert other != TEXT
    assert spec_hash(other) == spec_hash(TEXT)


@pytest.mark.parametrize(
    "other",
    [
        TEXT.replace("0.5", "0.50"),
        TEXT.replace("- 1", "+ 1"),
        TEXT.replace("A small", "A  small"),
        TEXT.replace("r.x", "rx"),
        TEXT.replace("small", "s mall", 1),
        TEXT + "!",
        "",
        "\udcff",
    ],
)
def test_other_words_are_another_spec(other: str) -> None:
    assert spec_hash(other) != spec_hash(TEXT)


def test_the_hash_is_of_the_words_a_line_each() -> None:
    assert spec_hash("problem  p # x\nset k = 0..2") == hashlib.sha256(b"problem\np\nset\nk\n=\n0\n..\n2\n").hexdigest()
