"""Every word of the language in every position where a name may stand: refused there with its place, or a name like any other."""

from __future__ import annotations

import pytest

from pdual.dsl.layout import SOFT
from pdual.dsl.pipeline import read
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source
from pdual.dsl.tables import load

#: Where `@` stands a name does; every spec is sound with a name that is not taken.
POSITIONS = {
    "problem": 'problem @ "a"\ndata d { x: real }\nover r in d { minimize r.x }',
    "param": "problem p\nparam @ = 2\ndata d { x: real }\nover r in d { minimize r.x * @ }",
    "set": "problem p\nset @ = 0..2\ndata d { x: real[@] }\nover r in d { minimize sum[i in @](r.x[i]) }",
    "member": "problem p\nset s = { a, @, b }\ndata d { x: real[s] }\nover r in d { minimize r.x[@] }",
    "given": 'problem p\ngiven @ = power.case("c") { set bus  v_max: real[bus] }\n'
    "data d { x: real }\nover r in d { minimize r.x * sum[i in bus](@.v_max[i]) }",
    "data": "problem p\ndata @ { x: real }\nover r in @ { minimize r.x }",
    "field": "problem p\ndata d { @: real }\nover r in d { minimize r.@ }",
    "second field": "problem p\ndata d { x, @: real }\nover r in d { minimize r.@ + r.x }",
    "field before another": "problem p\ndata d { @: real, x: real }\nover r in d { minimize r.@ + r.x }",
    "field on its own line": "problem p\ndata d {\n  x: real\n  @: real\n  y: real\n}\nover r in d { minimize r.@ + r.x + r.y }",
    "model": "problem p\ndata d { x: real }\nmodel @(x: real) -> real = mlp([4])\nover r in d { minimize @(r.x) }",
    "argument": "problem p\ndata d { x: real }\nmodel f(@: real) -> real = mlp([4])\nover r in d { minimize f(r.x) }",
    "output": "problem p\ndata d { x: real }\nmodel f(x: real) -> { @: real, b: real } = mlp([4])\n"
    "over r in d {\n  let (@, b) = f(r.x)\n  minimize @ + b\n}",
    "function": "problem p\ndata d { x: real }\ndef @(x) = 2 * x\nover r in d { minimize @(r.x) }",
    "function's argument": "problem p\ndata d { x: real }\ndef f(@) = 2 * @\nover r in d { minimize f(r.x) }",
    "row": "problem p\ndata d { x: real }\nover @ in d { minimize @.x }",
    "group": "problem p\ndata d { x: real, k: id }\nover group @ of d by k { minimize mean[a in @](a.x) }",
    "let": "problem p\ndata d { x: real }\nover r in d {\n  let @ = 2 * r.x\n  minimize @\n}",
    "index": "problem p\nset s = 0..2\ndata d { x: real[s] }\nover r in d { minimize sum[@ in s](r.x[@]) }",
    "index of a let": "problem p\nset s = 0..2\ndata d { x: real[s] }\n"
    "over r in d {\n  let z[@ in s] = 2 * r.x[@]\n  minimize z[0]\n}",
    "constraint": "problem p\ndata d { x: real }\nover r in d {\n  minimize r.x\n  subject to\n    low: r.x >= 0\n    @: r.x <= 1\n"
    "  dual @ = shared(cap = 1)\n}",
    "index of a constraint": "problem p\nset s = 0..2\ndata d { x: real[s] }\n"
    "over r in d {\n  minimize r.x[0]\n  subject to low[@ in s]: r.x[@] >= 0\n}",
    "metric": "problem p\ndata d { x: real }\nover r in d {\n  minimize r.x\n  metric @ = r.x\n}",
    "expectation": "problem p\ndata d { x: real }\nover r in d {\n  minimize r.x\n  subject to low: r.x >= 0\n}\n"
    "expect @ on d.test: max(viol(low)) <= 1",
}
WORDS = sorted(word for word in load().keywords)
SOFT_WORDS = {word for word, kind in load().keywords.items() if kind in SOFT}


@pytest.mark.parametrize("position", POSITIONS)
def test_a_name_may_stand_there(position: str) -> None:
    source = Source("p.pdual", POSITIONS[position].replace("@", "other"))
    spec, found = read(source)
    assert spec is not None, render_all(found, source)
    assert not found, render_all(found, source)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("position", POSITIONS)
def test_a_word_of_the_language_is_told_where_it_stands_or_is_a_name(position: str, word: str) -> None:
    text = POSITIONS[position].replace("@", word)
    source = Source("p.pdual", text)
    spec, found = read(source)
    if spec is not None and not found:
        assert word in SOFT_WORDS | {"let", "solve"}, "a reserved word was read as a name"
        return
    assert spec is None
    lines = {number for number, line in enumerate(POSITIONS[position].splitlines(), 1) if "@" in line}
    assert {source.position(item.span.start)[0] for item in found} <= lines, render_all(found, source)
    if (position, word) == ("group", "in"):  # `over group in ...` starts like a block whose row is called `group`
        return
    assert word not in SOFT_WORDS, render_all(found, source)
    assert len(found) <= 2, render_all(found, source)
    assert found[0].code == "PD010" or word in ("and", "or", "not", "if"), render_all(found, source)
