"""``pdual verify``: every shipped spec stands, and a fault that is planted is found, shown, stored and found again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from running import ROOT, say

import pdual.bounding.parts as parts_module
import pdual.dsl.operations.interval as interval_module
from pdual.dsl.operations import OPERATIONS
from pdual.finding import shipped_specs
from pdual.runtime.duals.shared import SharedStore
from pdual.runtime.optimisation.lagrangian import Lagrangian
from pdual.verifying.case import NumbersCase, RowsCase
from pdual.verifying.claims import CLAIMS

SPEC = (ROOT / "tests" / "mutation" / "everything.pdual").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdual.verifying.attack.SHRINKING", 0.5)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "everything.pdual").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("spec", sorted(set(shipped_specs()) - {"opf", "opf30_api", "opf30_direct", "opf30_mlp"}))
def test_no_claim_of_a_shipped_spec_falls(spec: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The interpreter goes word by word, and 128,256 of them are no other claim than 40.
    few = ["--set", "words=40"] if spec == "tofu_kl" else []
    said = say(capsys, "verify", spec, "--examples", "5", *few)
    assert said.code == 0, said.out
    assert "FALLS" not in said.out
    assert list(tmp_path.iterdir()) == []


def test_a_spec_that_cannot_be_solved_is_refused(capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "grouped.pdual").write_text(
        'problem grouped "x"\ndata rows { x: real, t: id, u: id }\nmodel f(x: real) -> real = linear()\n'
        "over group g of rows by t { minimize mean[r in g](f(r.x)) }\n"
        "over group g of rows by u { minimize mean[r in g](f(r.x)^2) }\n"
    )
    monkeypatch.chdir(tmp_path)
    said = say(capsys, "verify", "grouped.pdual", "--examples", "5")
    assert said.code == 1
    assert "error[PD295]" in said.err


@pytest.mark.usefixtures("here")
def test_it_says_how_far_it_is(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims with the same cases are tried together, once for everything that they are about; what is read by others stays clean."""
    monkeypatch.setattr("pdual.cli.progress.THROTTLE", 0.0)
    command = ["verify", "everything.pdual", "--examples", "3", "--claims", "lipschitz,curvature", "--json"]
    said = say(capsys, *command)
    titles = {line.rpartition(":")[0] for line in said.err.splitlines()}
    assert all(title.endswith(": lipschitz, curvature") for title in titles)
    for title in titles:
        own = [line.rpartition(": ")[2] for line in said.err.splitlines() if line.startswith(f"{title}: ")]
        assert own == [f"{case} of 3" for case in range(1, len(own) + 1)]
    assert {item["claim"] for item in said.json["claims"]} == {"lipschitz", "curvature"}
    assert say(capsys, *command, "-q").err == ""


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("claims", "cases"),
    [
        ("lipschitz,curvature", {"lipschitz": 8, "curvature": 8}),
        ("ranges,lipschitz", {"ranges": 8, "lipschitz": 2}),
    ],
)
def test_costly_claims_are_tried_on_every_fourth_case_beside_others(capsys, claims: str, cases: dict[str, int]) -> None:
    said = say(capsys, "verify", "everything.pdual", "--examples", "8", "--claims", claims, "--json", "-q")
    found = {item["claim"]: item["cases"] for item in said.json["claims"]}
    subjects = found[next(iter(cases))] // 8
    assert subjects >= 1
    assert found == {name: subjects * count for name, count in cases.items()}


@pytest.mark.usefixtures("here")
def test_every_claim_has_cases(capsys):
    said = say(capsys, "verify", "everything.pdual", "--examples", "12", "--json")
    assert said.code == 0, said.out
    found = {item["claim"]: item for item in said.json["claims"]}
    assert list(found) == [name for name, claim in CLAIMS.items() if not claim.of_run]
    assert all(item["stands"] for item in found.values())
    # The objective has neither a range nor a curvature that is known; these are tried below on one that has.
    silent = {name for name, item in found.items() if item["silent"] == item["cases"]}
    assert silent == {"bowl", "prices"}


def _fault(name: str, **changes: Any) -> Any:
    return replace(OPERATIONS[name], **changes)


#: Faults as they would be made: which claim falls, and what breaks it.
FAULTS = {
    "emission": ("values", "tanh", {"emit": lambda: torch.sin}),
    "meaning": ("rows", "negate", {"meaning": lambda x: x}),
    "range": ("ranges", "exp", {"interval": lambda a: interval_module.Interval(0.0, 2.0)}),
}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_a_planted_fault_is_found_shown_and_repeated(fault: str, here: Path, capsys, monkeypatch):
    claim, name, changes = FAULTS[fault]
    monkeypatch.setitem(OPERATIONS, name, _fault(name, **changes))
    text = SPEC.replace("-1 <= p.w[k]", "-(1 + p.y) <= p.w[k]")
    (here / "faulty.pdual").write_text(text)
    said = say(capsys, "verify", "faulty.pdual", "--claims", claim)
    assert said.code == 4
    assert f"error[PD660]: claim `{claim}` does not hold" in said.err
    assert "row 0 of d" in said.out
    assert "f.w #0" in said.out
    (file,) = (here / "counterexamples").iterdir()
    assert file.name.startswith(f"{claim}-")
    assert f"pdual verify faulty.pdual --replay counterexamples/{file.name}" in said.out
    again = say(capsys, "verify", "faulty.pdual", "--replay", str(file))
    assert again.code == 4
    assert list((here / "counterexamples").iterdir()) == [file]
    monkeypatch.undo()
    assert say(capsys, "verify", str(here / "faulty.pdual"), "--replay", str(file)).code == 0


@pytest.mark.long
def test_a_counterexample_is_as_small_as_it_gets(here: Path, capsys, monkeypatch):
    monkeypatch.setattr("pdual.verifying.attack.SHRINKING", 100.0)  # however busy the machine is
    monkeypatch.setitem(OPERATIONS, "tanh", _fault("tanh", emit=lambda: torch.sin))
    found = say(capsys, "verify", "everything.pdual", "--claims", "values", "--json").json["claims"][0][
        "counterexample"
    ]
    assert sum(value != 0 for value in found["case"]["rows"][0]["z"]) <= 1


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("claim", "owner", "name", "faulty"),
    [
        ("updates", SharedStore, "update", lambda self, reading: None),
        (
            "lagrangian",
            Lagrangian,
            "psi",
            lambda self, residuals, multipliers: (
                self.relaxed(residuals, multipliers) * (multipliers + self.half * residuals)
            ).sum(-1),
        ),
        ("multipliers", torch, "clamp", lambda x, low, high: x),
    ],
)
def test_faults_of_multipliers(claim: str, owner: object, name: str, faulty: object, capsys, monkeypatch):
    monkeypatch.setattr(owner, name, faulty)
    said = say(capsys, "verify", "everything.pdual", "--claims", claim)
    assert said.code == 4
    assert "residuals" in said.out


@pytest.mark.usefixtures("here")
def test_what_is_asked_wrongly(capsys, tmp_path: Path):
    said = say(capsys, "verify", "everything.pdual", "--claims", "row")
    assert said.code == 2
    assert "error[PD715]: `--claims` names `row`, which is no claim" in said.err
    assert "did you mean `rows`?" in said.err
    assert "error[PD620]" in say(capsys, "verify", "everything.pdual", "--run", "nowhere", "--examples", "1").err
    (tmp_path / "broken.json").write_text('{"claim": "rows"}')
    said = say(capsys, "verify", "everything.pdual", "--replay", "broken.json")
    assert "error[PD621]" in said.err
    assert "it does not hold a counterexample" in said.err
    said = say(capsys, "verify", "everything.pdual", "--replay", "absent.json")
    assert said.code == 2
    assert "error[PD703]: `absent.json` cannot be read: no such file or directory" in said.err


def test_cases_survive_a_file():
    rows = RowsCase("d", ({"x": 5e-324, "c": [1 + 2j]},), {"f": ({"": [[0.1]]},)}, (1,))
    assert RowsCase.of_json(json.loads(json.dumps(rows.as_json()))) == rows
    numbers = NumbersCase({"rho": [1e-300], "mask": [[True]]})
    assert NumbersCase.of_json(json.loads(json.dumps(numbers.as_json()))) == numbers


PREDICTIONS = """problem calls "several calls"
data d { a: real in [-1, 1], b: real in [-1, 1] }
model f(z: real) -> real in [-1, 1] = linear()
over r in d {
  minimize OBJECTIVE
  subject to
    c scale 1: CONSTRAINT <= 0.1
  dual default = pointwise(cap = 0.5)
  metric elsewhere = f(0.3 * r.a)
}
"""


def _calls_as_models(graph: Any) -> list[Any]:
    return list({node.name: node for node in parts_module.__dict__["_calls_as_they_are"](graph)}.values())


#: Mistakes of ``pdual bounds`` as they were made: the claim that falls, a spec, and what is planted.
BOUNDS = {
    "models for calls": ("bowl", "(f(r.a) - 0.5)^2", "f(r.b)", "pdual.bounding.parts._calls", _calls_as_models),
    "models for nested calls": ("bowl", "(f(r.a) - 0.5)^2", "f(f(r.a))", "pdual.bounding.parts._calls", _calls_as_models),
    "the largest for the width": (
        "prices", "0.5 * f(r.a)^2 + 4 * f(r.a)", "-f(r.a)", "pdual.bounding.parts.Objective.width", property(lambda self: self.bound),
    ),
    "caps that do not count": (
        "optima", "f(r.a)^2", "f(r.a)", "pdual.verifying.claims_duals.is_at_cap", lambda found, caps: torch.zeros_like(found) > 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", sorted(BOUNDS))
def test_mistakes_of_bounds_are_found(mistake: str, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch):
    claim, objective, constraint, where, faulty = BOUNDS[mistake]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calls.pdual").write_text(PREDICTIONS.replace("OBJECTIVE", objective).replace("CONSTRAINT", constraint))
    command = ["verify", "calls.pdual", "--claims", claim, "--examples", "25", "-q"]
    assert say(capsys, *command).code == 0
    monkeypatch.setattr(parts_module, "_calls_as_they_are", parts_module._calls, raising=False)
    monkeypatch.setattr(where, faulty)
    said = say(capsys, *command)
    assert said.code == 4
    assert f"claim `{claim}` does not hold" in said.err


@pytest.mark.parametrize(
    ("objective", "constraint"),
    [
        ("(f(r.a) - 0.5)^2 + f(r.b)^2", "f(r.a) + f(r.b)"),  # one call where a = b, and two predictions
        ("(f(r.a) - 0.5)^2", "f(f(r.a))"),  # another argument of the outer call at another point
        ("f(r.a)^2 + f(f(r.a))^2 + f(f(f(r.a)))^2", "f(f(r.a)) - f(f(f(r.a)))"),
        ("(f(r.a) - 0.5)^2 + f(r.b)^2", "f(r.a) * f(0.5 * r.b)"),
    ],
)
def test_calls_that_coincide_or_are_nested_break_no_claim(
    objective: str, constraint: str, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calls.pdual").write_text(PREDICTIONS.replace("OBJECTIVE", objective).replace("CONSTRAINT", constraint))
    said = say(
        capsys,
        "verify",
        "calls.pdual",
        "--claims",
        "lipschitz,curvature,bowl,prices",
        "--examples",
        "25",
        "-q",
        "--json",
    )
    assert said.code == 0
    found = {item["claim"]: item for item in said.json["claims"]}
    assert all(found[claim]["silent"] < 25 for claim in ("lipschitz", "prices"))
