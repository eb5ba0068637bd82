"""Every feature of the language server, over its protocol; columns are of UTF-16, behind letters that take one and two units."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pdual.dsl.formatting.layout import formatted
from pdual.dsl.spans import Source
from pdual.finding import shipped_specs

sys.path.insert(0, str(Path(__file__).parent))
from client import SERVER, Client, RefusedError
from places import at, edited, ends, place, taken

GRID = "# Größe 😀\n" + shipped_specs()["opf30"].read_text(encoding="utf-8")
SHOP = """\
problem shop "a shop"  # 😀 größer
param cap = 20.0 in [1, 100]
set item = { bread, milk }
data days = csv("days.csv") { demand: real[item] in [0, 9], price: real from "Preis" }
model f(x: real[item]) -> { made: real[item], cost: real } = mlp(hidden = [4])
def twice(x) = 2 * x
over d in days {
  let (made, cost) = f(d.demand)
  let gap[i in item] = d.demand[i] - made[i]
  minimize cost * d.price
  subject to
    enough[i in item]: gap[i] <= 0
    cheap: twice(cost) <= 8
  dual enough = shared(cap = cap)
  metric waste = -sum[i in item](gap[i])
}
expect few on days.test: mean(waste) <= 3
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Client(tmp_path_factory.mktemp("lsp")) as found:
        found.write("grid.pdual", GRID)
        found.write("shop.pdual", SHOP)
        yield found
    assert (found.code, found.said) == (0, "")


def hovered(client: Client, name: str, text: str, word: str, occurrence: int = 0) -> tuple[str, str]:
    """What a hover says, and what it marks."""
    found = client.about(name, "hover", position=place(text, word, occurrence))
    return found["contents"]["value"], taken(text, found["range"])


def completed(client: Client, text: str) -> list[str]:
    """What may stand at the end of a text."""
    client.write("typed.pdual", text)
    return [item["label"] for item in client.about("typed.pdual", "completion", position=at(text, len(text)))]


def test_the_shop_is_right(client: Client):
    assert client.diagnostics("shop.pdual") == []


def test_a_mistake_is_told_where_it_stands(client: Client):
    text = '# 😀\nproblem a "größer 😀" minimize cepital\n'
    client.write("wrong.pdual", text)
    (found,) = client.diagnostics("wrong.pdual")
    assert (found["code"], found["severity"], found["source"]) == ("PD101", 1, "pdual")
    assert found["range"] == ends(text, "cepital")
    assert "cepital" in found["message"]
    client.write("wrong.pdual", text.replace("cepital", "1"))
    assert [item["code"] for item in client.diagnostics("wrong.pdual")] == []


def test_a_second_place_is_told_with_its_role(client: Client):
    text = 'problem a "ä"\nparam x = 1\nparam x = 2\nminimize x\n'
    client.write("twice.pdual", text)
    (found,) = client.diagnostics("twice.pdual")
    assert found["range"] == ends(text, "x", 1)
    assert found["relatedInformation"][0]["location"]["range"] == ends(text, "x")


@pytest.mark.parametrize(
    ("word", "marked", "says"),
    [
        ("shop", "shop", ["problem shop", "a shop"]),
        ("cap ", "cap", ["param cap: real = 20", "within [1, 100]"]),
        ("item =", "item", ["set item", "2 members: bread, milk"]),
        ("milk", "milk", ["a member of the set `item`"]),
        ("days =", "days", ['data days = csv(file = "days.csv")', "rows"]),
        ("price", "price", ["price: real", 'read from the column "Preis"']),
        ("demand[i]", "demand", ["demand: real[item] in [0, 9]", "a field of every row of `days`"]),
        # 2 inputs, 4 hidden units, 3 outputs: 2*4 + 4 + 4*3 + 3 numbers.
        ("f(d", "f", ["model f(x: real[item])", "parameters: 27"]),
        ("made:", "made", ["made: real[item]", "an output of `f`"]),
        ("made[i]", "made", ["let made: real[item]"]),
        ("gap[i] <=", "gap", ["let gap: real[item]"]),
        ("i in item]:", "i", ["i in item", "an index over 2 members"]),
        ("d in", "d", ["row of days"]),
        ("enough = sh", "enough", ["constraint enough", "2 entries a row", "multiplier shared, cap 20"]),
        ("waste)", "waste", ["metric waste = -sum[i in item](gap[i])"]),
        ("few", "few", ["on days.test: mean(waste) <= 3"]),
        ("sum[", "sum", ["the sum; 0 over none"]),
        ("minimize", "minimize", ["a term of the objective"]),
        ("mlp", "mlp", ["architecture"]),
        ("hidden", "hidden", ["`mlp`: a list of integers"]),
        ("shared", "shared", ["the same on all rows"]),
    ],
)
def test_hover(client: Client, word: str, marked: str, says: list[str]):
    found, area = hovered(client, "shop.pdual", SHOP, word)
    assert area == marked
    assert [item for item in says if item not in found] == []


def test_hover_knows_structure_and_ranges(client: Client):
    assert client.diagnostics("grid.pdual") == []
    assert "30 members: 1, 2, 3, …, 30" in hovered(client, "grid.pdual", GRID, "bus, gen")[0]
    voltage = hovered(client, "grid.pdual", GRID, "voltage[")[0]
    assert "`voltage.lower`: `v_min[i] - abs(v[i]) <= 0`" in voltage
    assert "30 entries a row, range 0.12, scale 0.12, multiplier learned, cap 20" in voltage


def test_hover_in_a_comment_says_nothing(client: Client):
    assert client.about("grid.pdual", "hover", position=place(GRID, "Größe")) is None


@pytest.mark.parametrize(
    ("typed", "here", "not_here"),
    [
        ("", ["param", "over", "subject to"], ["cap"]),
        ("given g = ", ["power.case"], ["power.demands", "mlp", "abs"]),
        ("data d = ", ["csv", "power.demands"], ["power.case", "mlp"]),
        ("data d = power.", ["demands"], ["case", "completed"]),
        ("data d = csv() { x: ", ["real", "item", "graph"], ["cap", "csv"]),
        ("data d = csv() { x: real[", ["item"], ["real", "cap"]),
        ("model g(x: real) -> real = ", ["mlp", "frozen", "power.completed"], ["csv", "cap"]),
        ("model g(x: real) -> real = mlp(", ["hidden", "activation"], ["lr"]),
        ("model g(x: real) -> real = mlp(hidden = [4], ", ["activation"], ["hidden"]),
        ("over d in ", ["days"], ["item", "cap"]),
        ("over d in days {\n  ", ["let", "dual"], ["param", "solve"]),
        ("over d in days {\n  minimize d.", ["demand", "price"], ["made", "days"]),
        ("over d in days {\n  minimize ", ["d", "f", "cap", "abs"], ["param", "real"]),
        ("over d in days {\n  let y = f(d.demand)\n  minimize y.", ["made", "cost"], ["demand"]),
        ("over d in days {\n  minimize sum[k in ", ["item"], ["abs", "cap"]),
        ("over d in days {\n  minimize sum[k in item](", ["k", "d"], ["param"]),
        ("over d in days {\n  dual ", ["enough", "cheap", "default"], ["cap"]),
        ("over d in days {\n  dual cheap = ", ["learned", "pointwise", "cap"], ["csv"]),
        ("over group t of days by ", ["price"], ["days"]),
        ("solve { ", ["outer", "rho", "descent"], ["lr", "cap"]),
        ("solve { outer = 4 descent = ", ["adam", "sgd"], ["mlp"]),
        ("solve { descent = adam(", ["lr", "batch"], ["outer"]),
        ("solve { descent = adam(weight = ", ["rms", "logistic"], []),
        ("expect e on days.", ["train", "val", "test"], ["demand"]),
        ("expect e on days.test: viol(", ["enough", "cheap"], ["waste", "abs"]),
        ("expect e on days.test: mean(", ["waste"], []),
    ],
)
def test_completion(client: Client, typed: str, here: list[str], not_here: list[str]):
    found = completed(client, SHOP + typed)
    assert [word for word in here if word not in found] == []
    assert [word for word in not_here if word in found] == []
    assert len(found) == len(set(found))


@pytest.mark.parametrize("typed", ["param ", "# ", 'problem x "', "let "])
def test_nothing_completes_what_is_new(client: Client, typed: str):
    assert completed(client, SHOP + typed) == []


def test_completion_takes_the_place_of_what_is_typed(client: Client):
    text = "# 😀\n" + SHOP + "over d in days { minimize d.pr"
    client.write("typed.pdual", text)
    found = client.about("typed.pdual", "completion", position=at(text, len(text)))
    (edit,) = [item["textEdit"] for item in found if item["label"] == "price"]
    assert edited(text, [edit]) == text + "ice"


@pytest.mark.parametrize(
    ("word", "occurrence", "declared"),
    [("cap)", 0, "cap = 20"), ("demand)", 0, "demand:"), ("item](gap", 0, "item ="), ("enough =", 0, "enough["), ("waste)", 0, "waste ="),
     ("f(d", 0, "f(x"), ("twice(cost)", 0, "twice(x)"), ("x\nover", 0, "x) = 2"), ("gap[i] <=", 0, "gap[i in")],
)  # fmt: skip
def test_definition(client: Client, word: str, occurrence: int, declared: str):
    found = client.about("shop.pdual", "definition", position=place(SHOP, word, occurrence))
    assert found["uri"] == client.uri("shop.pdual")
    assert found["range"]["start"] == place(SHOP, declared)


def renamed(client: Client, word: str, name: str) -> str:
    found = client.about("shop.pdual", "rename", position=place(SHOP, word), newName=name)
    return edited(SHOP, found["changes"][client.uri("shop.pdual")])


def test_rename_a_parameter(client: Client):
    expected = SHOP.replace("param cap", "param most").replace("= cap)", "= most)")
    assert renamed(client, "cap = 20", "most") == expected


def test_rename_an_output_renames_what_is_taken_apart_by_name(client: Client):
    assert renamed(client, "made[i]", "built") == SHOP.replace("made", "built")


def test_rename_one_of_two_indices_of_one_name(client: Client):
    expected = SHOP.replace("gap[i in item] = d.demand[i] - made[i]", "gap[k in item] = d.demand[k] - made[k]")
    assert renamed(client, "i in item] =", "k") == expected


def test_a_setting_that_names_fields(client: Client):
    text = 'problem a\ndata d { standardised = [wide]  wide: real from "w" }\nover r in d { minimize r.wide }\n'
    client.write("fields.pdual", text)
    assert client.diagnostics("fields.pdual") == []
    assert "standardised: less the mean" in hovered(client, "fields.pdual", text, "wide]")[0]
    found = client.about("fields.pdual", "rename", position=place(text, "wide:"), newName="broad")
    assert edited(text, found["changes"][client.uri("fields.pdual")]) == text.replace("wide", "broad")


def test_rename_a_field_with_a_column(client: Client):
    assert renamed(client, "price:", "p") == SHOP.replace("price", "p")


@pytest.mark.parametrize(
    ("word", "name", "why"),
    [
        ("cost:", "made", "already"),
        ("gap[i in", "d", "already"),
        ("i in item] =", "d", "already"),
        ("cap = 20", "over", "a word of the language"),
        ("cap = 20", "abs", "a meaning in the language"),
        ("cap = 20", "2x", "no name"),
        ("demand:", "wanted", "column"),
    ],
)
def test_rename_refuses_a_clash(client: Client, word: str, name: str, why: str):
    with pytest.raises(RefusedError, match=why):
        client.about("shop.pdual", "rename", position=place(SHOP, word), newName=name)


def test_rename_refuses_names_of_a_source(client: Client):
    with pytest.raises(RefusedError, match="comes from elsewhere"):
        client.about("grid.pdual", "rename", position=place(GRID, "bus, gen"), newName="node")


def test_rename_refuses_while_the_syntax_is_wrong(client: Client):
    text = SHOP + "metric more = cap * * 2\n"
    client.write("half_read.pdual", text)
    with pytest.raises(RefusedError, match="syntax"):
        client.about("half_read.pdual", "rename", position=place(text, "cap"), newName="most")


def test_references(client: Client):
    found = client.about("shop.pdual", "references", position=place(SHOP, "gap["), context={"includeDeclaration": True})
    assert [taken(SHOP, item["range"]) for item in found] == ["gap"] * 3


def test_outline(client: Client):
    found = client.about("shop.pdual", "documentSymbol")
    assert [item["name"] for item in found] == ["shop", "cap", "item", "days", "f", "twice", "d in days", "few"]
    (block,) = [item for item in found if item["name"] == "d in days"]
    inside = ["made", "cost", "gap", "minimize", "enough", "cheap", "enough", "waste"]
    assert [item["name"] for item in block["children"]] == inside
    assert taken(SHOP, block["selectionRange"]) == "d"
    assert taken(SHOP, block["range"]).startswith("over d in days {")


def test_layout(client: Client):
    (edit,) = client.about("shop.pdual", "formatting", options={"tabSize": 2, "insertSpaces": True})
    text, _ = formatted(Source("shop", SHOP))
    assert text != SHOP
    assert edited(SHOP, [edit]) == text


def test_what_cannot_be_read_is_not_laid_out(client: Client):
    client.write("broken.pdual", 'problem  a "x" param = 3')
    assert client.about("broken.pdual", "formatting", options={"tabSize": 2, "insertSpaces": True}) is None


def test_hints(client: Client):
    everything: dict[str, Any] = {"start": at(GRID, 0), "end": at(GRID, len(GRID))}
    found = client.about("grid.pdual", "inlayHint", range=everything)
    place_of = {item["label"]: item["position"] for item in found}
    assert place_of["60× range 0.12"] == ends(GRID, "voltage", 0)["end"]


def test_half_typed_specs_keep_the_server_and_give_ranges_in_the_text(client: Client):
    """Thirty prefixes, as a spec is typed; after each, everything is asked at its end."""
    for number in range(1, 31):
        text = GRID[: len(GRID) * number // 30]
        client.write("half.pdual", text)
        end = at(text, len(text))
        for feature in ("hover", "completion", "definition"):
            client.about("half.pdual", feature, position=end)
        for item in client.about("half.pdual", "documentSymbol"):
            taken(text, item["range"])
        client.about("half.pdual", "formatting", options={"tabSize": 2, "insertSpaces": True})
        if number % 5 == 0:
            for item in client.diagnostics("half.pdual"):
                taken(text, item["range"])
    assert client.diagnostics("half.pdual") == []


def test_the_server_imports_nothing_heavy(tmp_path: Path):
    script = (
        "import sys\nfrom pdual.cli.main import perform\ncode = perform(['lsp'])\n"
        "heavy = [name for name in ('torch', 'numpy', 'scipy', 'sympy', 'networkx') if name in sys.modules]\n"
        "print('@', *heavy, file=sys.stderr)\nsys.exit(code)\n"
    )
    with Client(tmp_path, script) as found:
        found.write("grid.pdual", GRID)
        assert found.diagnostics("grid.pdual") == []
        found.about("grid.pdual", "hover", position=place(GRID, "dispatch("))
    assert (found.code, found.said.split()) == (0, ["@"])


def test_the_server_ends_with_its_editor(tmp_path: Path):
    found = subprocess.run([sys.executable, "-c", SERVER], cwd=tmp_path, input=b"", capture_output=True, timeout=60)
    assert found.stdout == b""


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    from pdual.cli.main import perform

    for name in [item for item in sys.modules if item.startswith("pdual.lsp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls.exceptions", None)
    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert perform(["lsp"]) == 2
    said = capsys.readouterr().err
    assert "PD714" in said
    assert "pip install 'pdual[lsp]'" in said
