from __future__ import annotations

from pdual.packs.power.cases.case import load_case
from pdual.packs.power.cases.notes import count_notes
from pdual.packs.power.declarations.sources import PowerCaseSettings
from pdual.runtime.data.context import SourceContext


def test_the_paper_counts_420_on_the_ieee_grid_and_309_are_live():
    notes = load_case(PowerCaseSettings(name="pglib_opf_case30_ieee"), SourceContext()).notes
    usual, live = notes[-2:]
    assert "420 multipliers a row" in usual
    assert "90 equalities + 60 voltage + 24 generation + 246 branch limits" in usual
    assert live == "309 of them are live: 29 angle references are masked and 82 rows say |S| >= 0, which is always true"


def test_an_infinite_rating_makes_no_row():
    # Two buses, one unit, one branch without a rating: 4 balance, 1 reference, 4 voltage, 4 generation, 2 angle rows.
    _, live = count_notes(buses=2, references=1, units=1, rated=0, branches=1)
    assert live.startswith("15 of them are live")
    assert live.endswith("2 flow limits are infinite")
