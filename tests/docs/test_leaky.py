"""The kind of dual that the docs add, installed as another package is: right in every command, and nowhere another kind in disguise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SPEC = """problem small "A line below a limit"
data points = csv("points.csv", split = [0.8, 0.1, 0.1]) { x: real, y: real }
model f(x: real) -> real = linear()
over p in points {
  minimize (f(p.x) - p.y)^2
  subject to
    low: f(p.x) <= p.y - 0.1
  dual low = leaky(cap = 7, rate = 0.25)
}
solve { outer = 4, rho = 2.0, descent = adam(lr = 1e-2, batch = 8, steps = 4) }
"""
#: Runs commands where the package is installed: a JSON object of codes and outputs by command.
SCRIPT = """
import contextlib, io, json, sys
sys.path[:0] = [PACKAGE, EXAMPLES]
from pdual.cli.main import perform

said = {}
for arguments in COMMANDS:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = perform(arguments)
    said[" ".join(arguments)] = [code, out.getvalue(), err.getvalue()]
import leaky
from pdual.lsp.cursor import _called
from pdual.vocabulary import DUALS
said["editors"] = [DUALS["leaky"], list(_called("leaky").settings), _called("leaky").settings["rate"]]
WRONG
print("@", json.dumps(said))
"""
WRONG = """
from dataclasses import replace
from pdual.dsl.declarations import registry
registry.duals()._loaded["leaky"] = replace(leaky.LEAKY, meaning=lambda *given: leaky.update(given[0], (), leaky.LeakySettings(rate=0.5)))
out = io.StringIO()
with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
    said["wrong"] = [perform(["verify", "small.pdual", "--claims", "updates", "--json"]), out.getvalue(), ""]
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    here = tmp_path_factory.mktemp("leaky")
    package = here / "site" / "leaky-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: leaky\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[pdual.duals]\nleaky = leaky:LEAKY\n")
    (here / "small.pdual").write_text(SPEC)
    (here / "misspelt.pdual").write_text(SPEC.replace("rate = 0.25", "rat = 0.25"))
    (here / "outside.pdual").write_text(SPEC.replace("rate = 0.25", "rate = 2"))
    (here / "points.csv").write_text("x,y\n" + "".join(f"{n / 20},{n % 7 / 7}\n" for n in range(40)))
    commands = [
        ["check", "small.pdual"],
        ["check", "misspelt.pdual"],
        ["check", "outside.pdual"],
        ["explain", "small.pdual", "--json"],
        ["run", "small.pdual", "--out", "run", "-q"],
        ["bounds", "--run", "run", "--json"],
        ["verify", "small.pdual", "--claims", "updates,multipliers,optima", "--json"],
        ["compare", "small.pdual", "--duals", "leaky,pointwise", "--seeds", "1", "--out", "both", "-q", "--json"],
    ]
    script = SCRIPT.replace("COMMANDS", repr(commands)).replace("PACKAGE", repr(str(here / "site")))
    script = script.replace("EXAMPLES", repr(str(EXAMPLES))).replace("WRONG", WRONG)
    done = subprocess.run([sys.executable, "-c", script], cwd=here, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1][2:])
    found["log"] = [json.loads(line) for line in (here / "run" / "log.jsonl").read_text().splitlines()]
    found["metrics"] = json.loads((here / "run" / "metrics.json").read_text())
    return found


def test_check_takes_its_settings_and_refuses_others(said: dict[str, Any]) -> None:
    assert said["check small.pdual"][0] == 0, said["check small.pdual"]
    code, out, err = said["check misspelt.pdual"]
    assert (code, "error[PD109]" in out + err, "did you mean `rate`" in out + err) == (1, True, True)
    assert (said["check outside.pdual"][0], "error[PD2" in "".join(said["check outside.pdual"][1:])) == (1, True)


def test_explain_counts_what_holds_it(said: dict[str, Any]) -> None:
    (dual,) = json.loads(said["explain small.pdual --json"][1])["explanation"]["duals"]
    assert (dual["kind"], dual["cap"], dual["parts"]) == ("leaky", 7.0, ["low"])


def test_a_run_has_a_multiplier_for_each_row(said: dict[str, Any]) -> None:
    assert said["run small.pdual --out run -q"][0] in (0, 1)
    assert len(said["log"]) == 4
    assert said["metrics"]["multipliers"]["parameters"] == 32


def test_bounds_counts_it_as_a_table(said: dict[str, Any]) -> None:
    code, out, _ = said["bounds --run run --json"]
    assert (code, "a table has a number of its own for every row" in out) == (0, True)


def test_verify_holds_the_store_to_the_declared_update(said: dict[str, Any]) -> None:
    code, out, _ = said["verify small.pdual --claims updates,multipliers,optima --json"]
    claims = {item["claim"]: item for item in json.loads(out)["claims"]}
    assert code == 0
    assert claims["updates"]["cases"] > claims["updates"]["silent"]
    assert claims["multipliers"]["cases"] > claims["multipliers"]["silent"]
    assert (
        claims["optima"]["cases"] == claims["optima"]["silent"]
    )  # what decays does not end at the optimum, and does not say so
    assert said["wrong"][0] == 4


def test_compare_puts_it_beside_others(said: dict[str, Any]) -> None:
    code, out, _ = said["compare small.pdual --duals leaky,pointwise --seeds 1 --out both -q --json"]
    assert code in (0, 1)
    assert {item["dual"] for item in json.loads(out)["trials"]} == {"leaky", "pointwise"}


def test_editors_offer_it_with_its_settings(said: dict[str, Any]) -> None:
    line, settings, rate = said["editors"]
    assert line.startswith("`leaky(cap = G, rate = 0.1)`")
    assert settings == ["cap", "rate"]
    assert "number" in rate
