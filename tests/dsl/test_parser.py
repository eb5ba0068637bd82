from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import golden
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdual.dsl import syntax
from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.diagnostics import Diagnostic
from pdual.dsl.parser import MOST_CHARACTERS, parse, source
from pdual.dsl.printer import render, render_all
from pdual.dsl.spans import Source
from pdual.dsl.tables import load

GOOD = {case: case.read_text(encoding="utf-8") for case in golden.cases("good")}
ACCEPTED = golden.cases("syntax/accepted")
NUMBER, NAME = syntax.Number, syntax.Name


def read(text: str) -> syntax.Spec:
    """The spec of a text without a mistake."""
    spec, found = parse(Source("test", text))
    assert not found, render_all(found, Source("test", text))
    assert spec is not None
    return spec


def statements(text: str) -> tuple[syntax.Statement, ...]:
    return read(f'problem p "a"\n{text}').statements[1:]


def expression(text: str) -> syntax.Expression:
    (let,) = statements(f"let x = {text}")
    assert isinstance(let, syntax.Let)
    return let.value


def codes(text: str) -> list[str]:
    return [item.code for item in parse(Source("test", text))[1]]


def nodes(value: object) -> Iterator[syntax.Node]:
    if isinstance(value, syntax.Node):
        yield value
        for field in dataclasses.fields(value):
            yield from nodes(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from nodes(item)


# --- accepted -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [*GOOD, *ACCEPTED], ids=golden.name)
def test_accepted(case: Path) -> None:
    text = source(case)
    spec, found = parse(text)
    assert spec is not None
    assert not found, render_all(found, text)
    assert parse(text) == (spec, found)


def test_every_refused_case_has_an_accepted_neighbour() -> None:
    refused = {case.name for case in golden.cases("syntax")}
    assert {case.name for case in ACCEPTED} == {name for name in refused if not name.startswith("several")}


@pytest.mark.parametrize("case", [*GOOD, *ACCEPTED], ids=golden.name)
def test_spans_hold_what_they_say(case: Path) -> None:
    text = case.read_text(encoding="utf-8")
    spec = read(text)
    for node in nodes(spec):
        assert 0 <= node.span.start < node.span.end <= len(text), node
        piece = text[node.span.start : node.span.end]
        assert piece == piece.strip()
        if isinstance(node, syntax.Name):
            assert piece == node.name
        elif isinstance(node, syntax.Expression):
            assert expression(piece) == node
        elif isinstance(node, syntax.Problem):
            assert read(piece).statements == (node,)
        elif isinstance(node, syntax.Statement):
            assert statements(piece) == (node,)


def test_children_stand_inside_their_parents() -> None:
    for text in GOOD.values():
        for node in nodes(read(text)):
            for child in nodes(tuple(getattr(node, field.name) for field in dataclasses.fields(node))):
                assert node.span.start <= child.span.start <= child.span.end <= node.span.end


def test_blanks_and_comments_mean_nothing() -> None:
    for text in GOOD.values():
        tokens = load().pattern
        words = [found.group() for found in tokens.finditer(text) if found.lastgroup not in load().ignored]
        assert read(" ".join(words)) == read(text)
        assert read("\ufeff" + "\r\n# = }\n".join(words) + "# the end") == read(text)


# --- what is read -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("-x^2", "-(x^2)"),
        ("x^2^3", "x^(2^3)"),
        ("x^-2^3", "x^(-(2^3))"),
        ("-x * y", "(-x) * y"),
        ("a - b - c", "(a - b) - c"),
        ("a / b * c", "(a / b) * c"),
        ("a + b * c", "a + (b * c)"),
        ("a - -b", "a - (-b)"),
        ("a + b <= c * d", "(a + b) <= (c * d)"),
        ("not a == b", "not (a == b)"),
        ("not not a and b", "(not (not a)) and b"),
        ("a and b or c and d", "(a and b) or (c and d)"),
        ("a or b or c", "(a or b) or c"),
        ("a if b else c if d else e", "a if b else (c if d else e)"),
        ("a or b if c or d else e + f", "(a or b) if (c or d) else (e + f)"),
        ("-a.b(c)[i]", "-((a.b)(c)[i])"),
        ("x[i]^2", "(x[i])^2"),
        ("sum[i in s](x[i])^2", "(sum[i in s](x[i]))^2"),
        ("(((a)))", "a"),
    ],
)
def test_precedence(text: str, same: str) -> None:
    assert expression(text) == expression(same)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("-x^2", "(-x)^2"),
        ("x^2^3", "(x^2)^3"),
        ("a - b - c", "a - (b - c)"),
        ("a <= b <= c", "(a <= b) <= c"),
        ("not a == b", "(not a) == b"),
        ("a if b else c if d else e", "(a if b else c) if d else e"),
    ],
)
def test_brackets_matter(text: str, other: str) -> None:
    assert expression(text) != expression(other)


@pytest.mark.parametrize(
    ("text", "value", "integer"),
    [
        ("3", 3.0, True),
        ("20_000", 20_000.0, True),
        ("0.5", 0.5, False),
        ("1e-4", 1e-4, False),
        ("2E+3", 2000.0, False),
        ("1%", 0.01, False),
        ("7%", 0.07, False),
        ("2.5%", 0.025, False),
    ],
)
def test_numbers(text: str, value: float, integer: bool) -> None:
    assert expression(text) == NUMBER(value, integer)


def test_texts() -> None:
    assert expression(r'"a \"b\" \\ c\n\t# no comment"') == syntax.Text('a "b" \\ c\n\t# no comment')
    assert expression('""') == syntax.Text("")


def test_chained_comparison() -> None:
    assert expression("a <= b < c") == syntax.Compare(("<=", "<"), (NAME("a"), NAME("b"), NAME("c")))


def test_calls_and_reductions() -> None:
    assert expression("f(a, b = 1)") == syntax.Call(
        NAME("f"), (syntax.Argument(None, NAME("a")), syntax.Argument("b", NUMBER(1.0, True)))
    )
    assert expression("sum[i in s where c, j in d.train](x)") == syntax.Reduction(
        "sum",
        (
            syntax.Binder("i", NAME("s"), NAME("c")),
            syntax.Binder("j", syntax.Member(NAME("d"), "train")),
        ),
        NAME("x"),
    )
    assert expression("f(x)[i, j].y") == syntax.Member(
        syntax.Index(syntax.Call(NAME("f"), (syntax.Argument(None, NAME("x")),)), (NAME("i"), NAME("j"))), "y"
    )


def test_declarations() -> None:
    ranged, listed, param, bounded = statements("set s = 0..9 set t = {a, b} param u = base  param v = 1 in [0, inf]")
    assert ranged == syntax.SetDeclaration(NAME("s"), NUMBER(0.0, True), NUMBER(9.0, True))
    assert listed == syntax.SetDeclaration(NAME("t"), members=(NAME("a"), NAME("b")))
    assert param == syntax.Param(NAME("u"), NAME("base"))
    interval = syntax.Interval(NUMBER(0.0, True), NAME("inf"))
    assert bounded == syntax.Param(NAME("v"), NUMBER(1.0, True), interval)


def test_given_and_data() -> None:
    given_grid, data = statements(
        'given g = power.case("x") { set bus, gen  set branch  at: bus[gen]  a, b: real[1, bus] in [0, 1] }'
        'data d { split = [1]  q: graph { node: real[_] } from "Q", label: digit }'
    )
    assert isinstance(given_grid, syntax.Given)
    assert given_grid.source.function == syntax.Member(NAME("power"), "case")
    assert given_grid.sets == (NAME("bus"), NAME("gen"), NAME("branch"))
    assert given_grid.fields == (
        syntax.FieldDeclaration((NAME("at"),), syntax.ArrayTypeName("bus", (NAME("gen"),))),
        syntax.FieldDeclaration(
            (NAME("a"), NAME("b")),
            syntax.ArrayTypeName(
                "real",
                (NUMBER(1.0, True), NAME("bus")),
                syntax.Interval(NUMBER(0.0, True), NUMBER(1.0, True)),
            ),
        ),
    )
    node = syntax.FieldDeclaration((NAME("node"),), syntax.ArrayTypeName("real", (NAME("_"),)))
    assert data == syntax.Data(
        NAME("d"),
        None,
        (
            syntax.FieldDeclaration((NAME("q"),), syntax.GraphTypeName((node,)), "Q"),
            syntax.FieldDeclaration((NAME("label"),), syntax.ArrayTypeName("digit")),
        ),
        (syntax.Setting(NAME("split"), syntax.ListOf((NUMBER(1.0, True),))),),
    )


def test_models_and_functions() -> None:
    built, later, frozen, function = statements(
        'model f(x: real, y: text) -> { v: real } = net(1)  model g() -> real { features = "fc2" }'
        "model h = frozen(f)  def square(x) = x^2"
    )
    assert isinstance(built, syntax.Model)
    assert [parameter.name.name for parameter in built.parameters or ()] == ["x", "y"]
    assert isinstance(built.output, syntax.RecordTypeName)
    assert built.architecture == syntax.Call(NAME("net"), (syntax.Argument(None, NUMBER(1.0, True)),))
    assert later == syntax.Model(
        NAME("g"),
        (),
        syntax.ArrayTypeName("real"),
        None,
        (syntax.Setting(NAME("features"), syntax.Text("fc2")),),
    )
    assert isinstance(frozen, syntax.Model)
    assert frozen.parameters is None
    assert frozen.output is None
    assert function == syntax.Def(
        NAME("square"),
        (syntax.Parameter(NAME("x"), None),),
        syntax.Binary("^", NAME("x"), NUMBER(2.0, True)),
    )


def test_blocks() -> None:
    rows, groups = statements(
        "over r in d { let (v, s) = f(r)  minimize v scale 2"
        "  subject to a[i in s] scale b[i]: v <= 1  b: v >= 0  metric m = v }"
        "  over group t of d by task { let z[p in t] = 1 }"
    )
    assert isinstance(rows, syntax.Over)
    assert (rows.row, rows.data, rows.by) == (NAME("r"), NAME("d"), None)
    let, minimize, subject_to, metric = rows.body
    assert isinstance(let, syntax.Let)
    assert let.names == (NAME("v"), NAME("s"))
    assert minimize == syntax.Minimize(NAME("v"), NUMBER(2.0, True))
    assert isinstance(subject_to, syntax.SubjectTo)
    first, second = subject_to.constraints
    assert first.scale == syntax.Index(NAME("b"), (NAME("i"),))
    assert first.binders == (syntax.Binder("i", NAME("s")),)
    assert second.name == NAME("b")
    assert metric == syntax.Metric(NAME("m"), NAME("v"))
    assert isinstance(groups, syntax.Over)
    assert (groups.row, groups.data, groups.by) == (NAME("t"), NAME("d"), NAME("task"))


def test_duals_and_expectations() -> None:
    dual, expect, solve = statements(
        "dual a, b.upper, c.re.lower, margin[j], default = x  expect n on d.test: a <= 1%  solve { outer = 1 }"
    )
    assert isinstance(dual, syntax.Dual)
    assert dual.targets == (
        syntax.DualTarget(NAME("a")),
        syntax.DualTarget(NAME("b"), (NAME("upper"),)),
        syntax.DualTarget(NAME("c"), (NAME("re"), NAME("lower"))),
        syntax.DualTarget(NAME("margin"), (), (NAME("j"),)),
        syntax.DualTarget(NAME("default")),
    )
    assert isinstance(expect, syntax.Expect)
    assert (expect.name, expect.data, expect.split) == (NAME("n"), NAME("d"), NAME("test"))
    assert solve == syntax.Solve((syntax.Setting(NAME("outer"), NUMBER(1.0, True)),))


@pytest.mark.parametrize("word", ["scale", "on", "by", "of", "group", "in", "from", "to", "graph", "subject"])
def test_soft_words_are_names(word: str) -> None:
    assert expression(f"{word} + a.{word} * {word}[{word}]^{word}")
    assert statements(f"param {word} = 1  set {word} = 0..1  let {word} = 1  metric {word} = {word}")
    assert statements(f"subject to {word}: {word} <= 1  {word}[{word} in s]: {word} >= {word}  b: 1 <= {word}")
    assert statements(f"over {word} in {word} {{ minimize {word} scale {word} }}")
    assert statements(f"data d {{ {word}: {word}  a: real, {word}: real }}  expect {word} on {word}.{word}: a <= 1")
    assert statements(f"solve {{ a = {word} {word} = 1 }}")


# --- refused ------------------------------------------------------------------------------------------------


def test_a_mistake_costs_its_own_statement_only() -> None:
    spec, found = parse(
        Source(
            "test",
            'problem p "a" param a = 1 + param b = 2 over r in d { let c = ) let e = 3 '
            "subject to f: x <= 1 g: x <= <= 2 h: x <= 3 } minimize a",
        )
    )
    assert [item.code for item in found] == ["PD019", "PD002", "PD002"]
    assert spec is not None
    problem, param, over, minimize = spec.statements
    assert isinstance(problem, syntax.Problem)
    assert isinstance(param, syntax.Param)
    assert isinstance(minimize, syntax.Minimize)
    assert isinstance(over, syntax.Over)
    let, subject_to = over.body
    assert isinstance(let, syntax.Let)
    assert let.names == (NAME("e"),)
    assert isinstance(subject_to, syntax.SubjectTo)
    assert [constraint.name.name for constraint in subject_to.constraints] == ["f", "h"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("let x = a ** b", "let x = a ^ b"),
        ("let x = !a && b || c", "let x = not a and b or c"),
        ("subject to a: x =< 1 b: y = 2", "subject to a: x <= 1 b: y == 2"),
        ("modle f(x: real) -> real = g()", "model f(x: real) -> real = g()"),
        ("let x = f(a b)", "let x = f(a, b)"),
        ("let x = f(a", "let x = f(a)"),
        ("subject to a[i in s] x <= 1", "subject to a[i in s]: x <= 1"),
        ("over r in d { let x = 1", "over r in d { let x = 1 }"),
        ("let data = 3", "let data = 3"),
    ],
)
def test_what_was_meant_is_read(text: str, meant: str) -> None:
    spec, found = parse(Source("test", f'problem p "a" {text}'))
    assert found
    assert spec == parse(Source("test", f'problem p "a" {meant}'))[0]


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "[" * 10_000 + "]" * 10_000,
        "{" * 10_000,
        ")" * 10_000,
        "-" * 10_000 + "1",
        "not " * 10_000 + "a",
        "1" + "^1" * 10_000,
        "1" + "+1" * 10_000,
        "a" + ".a" * 10_000,
        "a" + "[1]" * 10_000,
        "a if b else " * 10_000 + "c",
        "a <= " * 10_000 + "b",
        "let " * 10_000,
        "over r in d { " * 10_000,
        '"' * 10_001,
        "@" * 10_000,
        "@ $ " * 10_000,
        "a.data " * 10_000,
    ],
    ids=lambda text: text[:12],
)
def test_no_depth_or_length_is_too_much(text: str) -> None:
    _, found = parse(Source("test", f'problem p "a"\nlet x = {text}'))
    assert len(found) <= 110
    assert found or text.startswith("a <=")


def test_too_large() -> None:
    text = Source("test", "#" * (MOST_CHARACTERS + 1))
    spec, found = parse(text)
    assert spec is None
    assert render_all(found, text) == (
        "error[PD032]: the spec is too large: 5,000,001 characters, the limit is 5,000,000\n --> test\n"
    )
    assert codes("#" * MOST_CHARACTERS) == ["PD030"]


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "latin.pdual"
    path.write_bytes('problem p "Größe"'.encode("latin-1"))
    text = source(path, "latin.pdual")
    spec, found = parse(text)
    assert spec is None
    assert [item.code for item in found] == ["PD031"]
    assert found[0].span.start == 13
    render(found[0], text).encode("utf-8")


def hold(text: str, diagnostics: tuple[Diagnostic, ...]) -> None:
    for item in diagnostics:
        assert item.code in CATALOGUE
        for span in (item.span, *(label.span for label in item.labels)):
            assert 0 <= span.start <= span.end <= len(text)
        assert "{" not in CATALOGUE[item.code].title.format_map(item.fact) or "{" in "".join(item.fact.values())


WORDS = sorted(
    {
        *load().symbols.values(),
        *(
            "a",
            "b",
            "default",
            "1",
            "2.5",
            "1%",
            '"text"',
            "<=",
            "==",
            "<",
            ">=",
            "# c\n",
            "\n",
            '"',
            "!",
            "&&",
            "é",
        ),
    }
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
def test_any_words_in_any_order(text: str) -> None:
    spec, found = parse(Source("test", text))
    hold(text, found)
    # A text without a mistake starts with its problem, and only such a text is read in silence.
    assert found or (spec is not None and isinstance(spec.statements[0], syntax.Problem))


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text(text: str) -> None:
    hold(text, parse(Source("test", text))[1])


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(GOOD.values())),
    st.lists(st.tuples(st.integers(0), st.integers(0, 8), st.sampled_from(["", *WORDS])), min_size=1, max_size=4),
)
def test_any_change_of_a_good_spec(text: str, changes: list[tuple[int, int, str]]) -> None:
    for place, removed, inserted in changes:
        start = place % (len(text) + 1)
        text = text[:start] + inserted + text[start + removed :]
    spec, found = parse(Source("test", text))
    hold(text, found)
    if spec is not None:
        assert all(node.span.end <= len(text) for node in nodes(spec))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(GOOD.values())), st.data())
def test_one_missing_token_is_no_cascade(text: str, data: st.DataObject) -> None:
    tokens = load()
    words = [found for found in tokens.pattern.finditer(text) if found.lastgroup not in tokens.ignored]
    lost = data.draw(st.sampled_from(words))
    _, found = parse(Source("test", text[: lost.start()] + text[lost.end() :]))
    assert len(found) <= 2, render_all(found, Source("test", text[: lost.start()] + text[lost.end() :]))


def test_reading_imports_no_library() -> None:
    """`pdual check` answers at once: neither lark nor anything heavier is imported to read a spec."""
    code = (
        "import sys; from pdual.dsl.parser import parse; from pdual.dsl.printer import render_all;"
        "from pdual.dsl.spans import Source; parse(Source('a', 'let'));"
        "print(*({'lark', 'pydantic', 'numpy', 'torch', 'sympy', 'networkx'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == ""
