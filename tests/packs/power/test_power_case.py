import math
import subprocess
import sys

import numpy as np
import pytest
from power_oracle import CASES, SHIPPED, admittances, flows, known, matrices, published, refused, s_at_buses

from pdual.packs.power.declarations.sources import POWER_CASE


def test_the_shipped_case_is_the_ieee_grid_of_30_buses():
    grid = known(SHIPPED)
    assert [len(grid.sets[name]) for name in ("bus", "gen", "branch")] == [30, 6, 41]
    assert grid.sets["gen"] == ("1@1", "2@2", "3@5", "4@8", "5@11", "6@13")
    assert grid.sets["branch"][9] == "6->8"
    assert grid.fields["base_mva"] == 100
    assert sum(grid.fields["load"]) == pytest.approx(2.834 + 1.262j)
    assert grid.fields["c1"][:2] == pytest.approx([1842.1528, 5218.2254])
    assert grid.fields["shunt"][9] == 0.19j
    assert grid.fields["s_max"][0] == pytest.approx(2.71 + 0.1j)
    assert grid.fields["angle_min"] == [pytest.approx(-math.pi / 6)] * 41
    assert not any("left out" in note for note in grid.notes)


@pytest.mark.parametrize(("name", "folder"), [(SHIPPED, "pglib"), (f"{SHIPPED}__api", "pglib/api")])
def test_a_shipped_table_is_the_published_file(name: str, folder: str):
    file = published() / folder / f"{name}.m"
    assert known(file).fingerprint == known(name).fingerprint
    base, found = matrices(file)
    loads = [complex(row[2], row[3]) / base for row in found["bus"]]
    assert known(name).fields["load"] == pytest.approx(loads, abs=1e-15)


def test_the_shipped_case_needs_the_standard_library_only():
    code = f"""
import sys
from pdual.packs.power.declarations.sources import POWER_CASE, PowerCaseSettings
from pdual.runtime.data.context import SourceContext
from pdual.packs.power.cases.case import load_case
load_case(PowerCaseSettings(name={SHIPPED!r}), SourceContext())
print([name for name in ("numpy", "pandas", "torch", "casadi") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_offered_field_is_given_with_its_axes():
    offer = POWER_CASE.offer(POWER_CASE.settings(name=SHIPPED))
    grid = known("six.m")
    assert set(offer.sets) == set(grid.sets)
    assert {name for name, _ in offer.fields} == set(grid.fields)
    for name, offered in offer.fields:
        if offered.axes:
            assert len(grid.fields[name]) == len(grid.sets[offered.axes[0].set]), name


def test_what_is_out_of_service_is_left_out_and_said():
    grid = known("six")
    assert grid.sets["bus"] == ("1", "2", "5", "7", "10", "20")
    assert grid.sets["gen"] == ("1@1", "3@5", "4@20")
    assert grid.sets["branch"] == (
        "1->2", "1->2#2", "2->5", "5->7", "7->10", "10->1", "10->20", "20->7",
    )  # fmt: skip
    assert grid.notes[:4] == (
        "1 isolated bus left out",
        "2 units out of service left out",
        "2 branches out of service left out",
        "1 branch without a flow limit",
    )


def test_positions_follow_the_buses_that_are_left():
    grid = known("six.m")
    assert grid.fields["at"] == [0, 2, 5]
    assert grid.fields["source"] == [0, 0, 1, 2, 3, 4, 4, 5]
    assert grid.fields["target"] == [1, 1, 2, 3, 4, 0, 5, 3]
    assert grid.fields["slack"] == [True, False, False, False, False, False]


def test_units_of_the_six_bus_grid():
    field = known("six.m").fields
    assert field["load"][4] == 0.3 - 0.04j
    assert field["shunt"][3] == pytest.approx(0.03 + 0.12j)
    assert field["tap"][0] == 1
    assert field["tap"][2] == pytest.approx(0.95 * complex(math.cos(math.pi / 36), math.sin(math.pi / 36)))
    assert field["series"][0] == pytest.approx(1 / (0.02 + 0.12j))
    assert field["charge_source"][0] == field["charge_target"][0] == 0.015j
    assert field["rate"][0] == 0.5
    assert field["rate"][5] == math.inf
    assert field["s_max"][1] == complex(0.6, math.inf)
    assert (field["c2"], field["c1"], field["c0"]) == (
        [pytest.approx(0.04 * 2500), 0, 0],
        [600, 1550, 0],
        [100, 7, 0],
    )


def test_angle_limits_of_0_or_a_full_turn_are_none():
    field = known("six.m").fields
    degrees = np.degrees([field["angle_min"][2:6], field["angle_max"][2:6]])
    assert degrees == pytest.approx(np.array([[-180, -180, -180, -45], [180, 180, 12, 180]]))


@pytest.mark.parametrize(
    "case",
    ["six.m", "pglib/pglib_opf_case57_ieee.m", "pglib/pglib_opf_case300_ieee.m", "matpower/case14.m"],
)
def test_flows_and_injections_are_those_of_matpower(case):
    file = CASES / case if case == "six.m" else published() / case
    grid = known(file)
    random = np.random.default_rng(1)
    buses = len(grid.sets["bus"])
    v = random.uniform(0.9, 1.1, buses) * np.exp(1j * random.uniform(-0.6, 0.6, buses))
    y_bus, y_from, y_to = admittances(file)
    field = {name: np.array(values) for name, values in grid.fields.items()}
    out, into = flows(grid, v)
    scale = np.abs(field["series"]).max()
    assert out == pytest.approx(v[field["source"]] * np.conj(y_from @ v), abs=1e-12 * scale)
    assert into == pytest.approx(v[field["target"]] * np.conj(y_to @ v), abs=1e-12 * scale)
    injected = np.conj(field["shunt"]) * np.abs(v) ** 2
    np.add.at(injected, field["source"], out)
    np.add.at(injected, field["target"], into)
    assert injected == pytest.approx(v * np.conj(y_bus @ v), abs=1e-11 * scale)


def test_a_unit_stands_at_the_bus_it_names():
    grid = known("six.m")
    assert s_at_buses(grid, [1, 2, 3]) == [1, 0, 2, 0, 0, 3]


def test_a_name_is_found_in_the_data_folder(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "power" / "matpower"
    folder.mkdir(parents=True)
    (folder / "mine.m").write_text((CASES / "six.m").read_text())
    monkeypatch.setenv("PDUAL_DATA", str(tmp_path / "data"))
    assert known("mine", tmp_path).fingerprint == known("six.m").fingerprint
    (diagnostic,) = refused(lambda: known("mined", tmp_path))
    assert (diagnostic.code, diagnostic.fact["near"]) == ("PD501", "mine")


def test_a_case_that_is_nowhere_names_the_places_and_the_nearest_name(tmp_path, monkeypatch):
    monkeypatch.delenv("PDUAL_DATA", raising=False)
    (diagnostic,) = refused(lambda: known("pglib_opf_case30_iee", tmp_path))
    assert diagnostic.code == "PD501"
    assert diagnostic.fact["near"] == SHIPPED
    assert str(tmp_path / "pglib_opf_case30_iee.m") in diagnostic.fact["searched"]
    assert "PDUAL_DATA" in diagnostic.fact["searched"]
    (diagnostic,) = refused(lambda: known("sub/nothing.m", tmp_path))
    assert "near" not in diagnostic.fact
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "nothin.m").write_text("")
    (diagnostic,) = refused(lambda: known("sub/nothing.m", tmp_path))
    assert diagnostic.fact["near"] == "sub/nothin.m"


def test_content_decides_the_fingerprint(tmp_path):
    text = (CASES / "six.m").read_text()
    (tmp_path / "same.m").write_text(text.replace("% the shunt", "% words"))
    (tmp_path / "other.m").write_text(text.replace("1.5	6", "1.5	7"))
    assert known("same.m", tmp_path).fingerprint == known("six.m").fingerprint
    assert known("other.m", tmp_path).fingerprint != known("six.m").fingerprint
