"""Repairs over the protocol: what a diagnostic offers is an edit, and the text after it has the mistake no more."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from client import Client
from places import at, edited, place

RIGHT = """\
problem shop "größer 😀"
param cap = 20.0 in [1, 100]
set item = { bread, milk }
data days = csv("days.csv") { demand: real[item] in [0, 9], price: real }
model f(x: real[item]) -> real[item] = mlp(hidden = [4])
over d in days {
  let made = f(d.demand)
  minimize sum[i in item](made[i]) * d.price
  subject to enough[i in item]: d.demand[i] <= made[i]  # 😀
  dual enough = shared(cap = cap)
}
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Client(tmp_path_factory.mktemp("actions")) as found:
        yield found
    assert (found.code, found.said) == (0, "")


def offered(client: Client, name: str, text: str, word: str, only: list[str] | None = None) -> list[dict[str, Any]]:
    """The actions at a word; nothing has to be published before they are asked for."""
    client.write(name, text)
    here = place(text, word)
    context = {"diagnostics": [], **({"only": only} if only is not None else {})}
    found: list[dict[str, Any]] = client.about(name, "codeAction", range={"start": here, "end": here}, context=context)
    return found


def after(client: Client, name: str, text: str, action: dict[str, Any]) -> str:
    return edited(text, action["edit"]["changes"][client.uri(name)])


def test_the_server_says_what_it_offers(client: Client) -> None:
    assert client.capabilities["codeActionProvider"]["codeActionKinds"] == ["quickfix", "source.fixAll"]


@pytest.mark.parametrize(
    ("right", "wrong", "title"),
    [
        ("d.price", "d.prize", "Replace `prize` with `price`"),
        ("mlp(hidden", "mlp(hiden", "Replace `hiden` with `hidden`"),
        ("csv(", "cvs(", "Replace `cvs` with `csv`"),
        ("dual enough", "dual enuogh", "Replace `enuogh` with `enough`"),
        ("<= made[i]", "=< made[i]", "Replace `=<` with `<=`"),
        ("minimize", "minimise", "Replace `minimise` with `minimize`"),
    ],
)
def test_a_quick_fix_repairs_its_mistake(client: Client, right: str, wrong: str, title: str) -> None:
    text = RIGHT.replace(right, wrong)
    word = title.split("`")[1]
    fix, everything = offered(client, "shop.pdual", text, word)
    assert (fix["title"], fix["kind"], fix["isPreferred"]) == (title, "quickfix", True)
    (told,) = client.diagnostics("shop.pdual")
    assert fix["diagnostics"] == [told]
    assert after(client, "shop.pdual", text, fix) == RIGHT
    assert everything["kind"] == "source.fixAll"
    assert after(client, "shop.pdual", text, everything) == RIGHT


def test_all_mistakes_at_once(client: Client) -> None:
    text = RIGHT.replace("d.price", "d.prize").replace("hidden", "hiden").replace("<= made[i]", "=< made[i]")
    (action,) = offered(client, "all.pdual", text, "problem", ["source.fixAll"])
    assert action["title"] == "Repair 3 mistakes that can be"
    assert after(client, "all.pdual", text, action) == RIGHT
    client.write("all.pdual", RIGHT)
    assert client.diagnostics("all.pdual") == []


def test_only_what_is_asked_for(client: Client) -> None:
    text = RIGHT.replace("d.price", "d.prize")

    def kinds(only: list[str] | None) -> list[str]:
        return [item["kind"] for item in offered(client, "kinds.pdual", text, "prize", only)]

    assert kinds(None) == ["quickfix", "source.fixAll"]
    assert kinds(["quickfix"]) == ["quickfix"]
    assert kinds(["source"]) == ["source.fixAll"]
    assert kinds(["source.fixAll"]) == ["source.fixAll"]
    assert kinds(["source.organizeImports"]) == []
    assert kinds(["refactor"]) == []
    assert kinds(["quick"]) == []


def test_a_fix_is_offered_at_its_mistake_only(client: Client) -> None:
    text = RIGHT.replace("d.price", "d.prize").replace("hidden", "hiden")
    assert [item["title"] for item in offered(client, "here.pdual", text, "prize", ["quickfix"])] == [
        "Replace `prize` with `price`"
    ]
    assert offered(client, "here.pdual", text, "param", ["quickfix"]) == []
    client.write("here.pdual", text)
    whole = {"start": at(text, 0), "end": at(text, len(text))}
    found = client.about("here.pdual", "codeAction", range=whole, context={"diagnostics": [], "only": ["quickfix"]})
    assert len(found) == 2


def test_where_nothing_can_be_repaired_nothing_is_offered(client: Client) -> None:
    assert offered(client, "right.pdual", RIGHT, "param") == []
    text = RIGHT.replace("d.price", "d.zzzzzz")
    assert offered(client, "far.pdual", text, "zzzzzz") == []
    assert [item["code"] for item in client.diagnostics("far.pdual")] == ["PD107"]


def test_a_document_that_is_not_open_has_none(client: Client) -> None:
    start = {"line": 0, "character": 0}
    area = {"start": start, "end": start}
    assert client.about("closed.pdual", "codeAction", range=area, context={"diagnostics": []}) == []
