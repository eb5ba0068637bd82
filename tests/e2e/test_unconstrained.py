"""A spec without a constraint is a warning of `check`, unless it says that none is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import say

SPEC = """problem p "a test"
data d {{ x: real }}
model f(x: real) -> real = linear()
over r in d {{
  minimize f(r.x)^2
  {inside}
}}
{outside}
"""


@pytest.mark.parametrize(
    ("inside", "outside", "warned"),
    [
        ("", "", True),
        ("# subject to few: f(r.x) <= 3", "", True),
        ("dual default = none", "", False),
        ("subject to few: f(r.x) <= 3 dual few = pointwise(cap = 1)", "", False),
        ("", "subject to few: mean[r in d](f(r.x)) <= 3", False),
    ],
)
def test_check(
    inside: str,
    outside: str,
    warned: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.pdual").write_text(SPEC.format(inside=inside, outside=outside), encoding="utf-8")
    said = say(capsys, "check", "p.pdual")
    assert said.code == 0
    assert ("warning[PD416]" in said.out) == warned
    assert say(capsys, "check", "--json", "p.pdual").json["specs"][0]["diagnostics"] == [] or warned


def test_shipped_baselines_say_that_they_are_some(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("tofu_finetune", "tofu_graddiff", "tofu_npo"):
        assert say(capsys, "check", name).out == "checked 1 spec: no mistakes\n"
