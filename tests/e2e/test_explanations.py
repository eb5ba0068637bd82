"""Every code has a long text; where a spec can make the mistake, one makes it and its repair is clean."""

from __future__ import annotations

import pytest

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.explanations import explain, heading
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source
from pdual.understanding import understand

#: Codes that a spec's text can cause, and whose long text shows none: bytes, sizes, depths, values from outside, and
#: what the grammar itself rules out.
WITHOUT_A_SPEC = {
    *(
        "PD031",
        "PD032",
        "PD033",
        "PD034",
        "PD037",
        "PD116",
        "PD240",
        "PD241",
        "PD266",
        "PD267",
        "PD293",
        "PD294",
        "PD295",
    ),
    *("PD298", "PD305", "PD312", "PD416", "PD440"),
}
OF_A_SPEC = [code for code in CATALOGUE if code[:3] in ("PD0", "PD1", "PD2", "PD3", "PD4")]


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_has_a_long_text(code: str) -> None:
    found = explain(code)
    assert found.reason.endswith((".", ")"))
    assert "{" not in heading(code)


@pytest.mark.parametrize("code", [code for code in OF_A_SPEC if code not in WITHOUT_A_SPEC])
def test_the_failing_spec_fails_so_and_the_repair_is_clean(code: str) -> None:
    found = explain(code.lower())
    assert found.failing is not None
    assert found.repaired is not None
    failing, repaired = Source("failing.pdual", found.failing), Source("repaired.pdual", found.repaired)
    said = understand(failing).diagnostics
    assert {item.code for item in said} == {code}, render_all(said, failing)
    left = understand(repaired).diagnostics
    assert not left, render_all(left, repaired)


def test_no_other_code_shows_a_spec() -> None:
    shown = {code for code in CATALOGUE if explain(code).failing is not None}
    assert shown == set(OF_A_SPEC) - WITHOUT_A_SPEC
