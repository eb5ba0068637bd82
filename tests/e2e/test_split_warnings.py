"""A run tells of groups that its splits cut apart before it trains."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import say

SPEC = """problem posts "posts of years"
data posts = csv("posts.csv"{setting}) {{ year: int, x: real }}
model f(x: real) -> real = linear()
over group g of posts by year {{
  minimize mean[p in g](f(p.x)^2)
  subject to small: mean[p in g](f(p.x)) <= 9
}}
solve {{ outer = 1, descent = adam(lr = 1e-3, steps = 1) }}
"""


@pytest.mark.parametrize(
    ("setting", "years", "expected"),
    [
        ("", 40, "warning[PD553]: 40 of the 40 groups of `posts` by `year` have rows in several splits"),
        (", split_by = year", 3, "warning[PD554]: `posts` has no rows in `val` and `test`: its rows are shared out by `year`, which has 3 values"),
        (", split_by = year", 40, ""),
        (", split_by = none", 40, ""),
    ],
)  # fmt: skip
def test_a_run_tells_of_its_splits(
    capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, years: int, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("posts.pdual").write_text(SPEC.format(setting=setting))
    Path("posts.csv").write_text("year,x\n" + "".join(f"{n % years},{n % 7}\n" for n in range(1200)))
    said = say(capsys, "run", "posts.pdual", "--out", "run", "-q")
    assert said.code == 0
    assert [line for line in said.err.splitlines() if line.startswith("warning")] == ([expected] if expected else [])
