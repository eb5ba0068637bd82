"""What the tests of power grids compare with: MATPOWER's own formulas, written apart from pdual's."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.diagnostics import Refusal
from pdual.packs.power.cases.case import load_case
from pdual.packs.power.declarations.sources import PowerCaseSettings
from pdual.runtime.data.context import SourceContext

CASES = Path(__file__).parent / "cases"
SHIPPED = "pglib_opf_case30_ieee"


def known(name, folder=CASES):
    return load_case(PowerCaseSettings(name=str(name)), SourceContext(folder=folder))


def published():
    """The folder of published cases, or a skip that says what is missing."""
    root = os.environ.get("PDUAL_DATA")
    if not root or not (Path(root) / "power").is_dir():
        pytest.skip("the published cases are in $PDUAL_DATA/power, which is not set or not there")
    return Path(root) / "power"


def matrices(file):
    """Base and matrices of a MATPOWER file whose rows are one a line; a parser of its own."""
    text = re.sub(r"%.*", "", Path(file).read_text())
    base = float(re.search(r"baseMVA\s*=\s*([\d.]+)", text)[1])
    found = {}
    for name, body in re.findall(r"mpc\.(\w+)\s*=\s*\[(.*?)\]", text, re.DOTALL):
        rows = [[float(entry) for entry in row.split()] for row in body.split(";") if row.strip()]
        found[name] = np.array(rows)
    return base, found


def admittances(file):
    """Ybus, Yf and Yt of MATPOWER's manual (section on the AC model), buses in the order of the file."""
    base, found = matrices(file)
    bus = found["bus"][found["bus"][:, 1] != 4]
    place = {int(number): row for row, number in enumerate(bus[:, 0])}
    live = [row for row in found["branch"] if row[10] > 0 and int(row[0]) in place and int(row[1]) in place]
    y_from = np.zeros((len(live), len(bus)), complex)
    y_to = np.zeros((len(live), len(bus)), complex)
    y_bus = np.diag((bus[:, 4] + 1j * bus[:, 5]) / base)
    for number, row in enumerate(live):
        source, target = place[int(row[0])], place[int(row[1])]
        series, charge = 1 / (row[2] + 1j * row[3]), 1j * row[4] / 2
        tap = (row[8] or 1.0) * np.exp(1j * np.pi / 180 * row[9])
        y_from[number, source] += (series + charge) / (tap * np.conj(tap))
        y_from[number, target] += -series / np.conj(tap)
        y_to[number, source] += -series / tap
        y_to[number, target] += series + charge
        y_bus[source] += y_from[number]
        y_bus[target] += y_to[number]
    return y_bus, y_from, y_to


def flows(known, v):
    """The formulas of opf30.pdual, an entry at a time."""
    field, out, into = known.fields, [], []
    for branch in range(len(field["series"])):
        y, tap = field["series"][branch], field["tap"][branch]
        vs, vt = v[field["source"][branch]], v[field["target"][branch]]
        ys, yt = y + field["charge_source"][branch], y + field["charge_target"][branch]
        out.append(np.conj(ys) * abs(vs / tap) ** 2 - np.conj(y) * vs * np.conj(vt) / tap)
        into.append(np.conj(yt) * abs(vt) ** 2 - np.conj(y) * np.conj(vs) * vt / np.conj(tap))
    return np.array(out), np.array(into)


def parts(known, load, v, s):
    """left - right of every part of opf30's constraints, entries with an infinite side left out."""
    field = {name: np.array(values) for name, values in known.fields.items()}
    field |= {name: field[name].astype(int) for name in ("source", "target")}  # there may be no branch
    out, into = flows(known, v)
    balance = np.array(s_at_buses(known, s)) - load - np.conj(field["shunt"]) * abs(v) ** 2
    for branch in range(len(out)):
        balance[field["source"][branch]] -= out[branch]
        balance[field["target"][branch]] -= into[branch]
    across = np.angle(v[field["source"]] * np.conj(v[field["target"]]))
    found = {"balance.re": balance.real, "balance.im": balance.imag, "reference": np.angle(v)[field["slack"]]}
    boxes = {
        "voltage": (abs(v), field["v_min"], field["v_max"]),
        "generation.re": (s.real, field["s_min"].real, field["s_max"].real),
        "generation.im": (s.imag, field["s_min"].imag, field["s_max"].imag),
        "angle": (across, field["angle_min"], field["angle_max"]),
    }
    for name, (value, low, high) in boxes.items():
        found[f"{name}.lower"] = (low - value)[np.isfinite(low)]
        found[f"{name}.upper"] = (value - high)[np.isfinite(high)]
    rated = np.isfinite(field["rate"])
    found["flow_source"] = (abs(out) - field["rate"])[rated]
    found["flow_target"] = (abs(into) - field["rate"])[rated]
    return found


def s_at_buses(known, s):
    total = [0j] * len(known.sets["bus"])
    for unit, bus in enumerate(known.fields["at"]):
        total[bus] += s[unit]
    return total


def cost(known, s):
    c0, c1, c2 = (np.array(known.fields[name]) for name in ("c0", "c1", "c2"))
    return float(np.sum(c0 + c1 * s.real + c2 * s.real**2))


def refused(action):
    """The diagnostics of a refusal, each with a wording that its facts fill."""
    with pytest.raises(Refusal) as caught:
        action()
    for item in caught.value.diagnostics:
        assert "{" not in CATALOGUE[item.code].title.format(**item.fact)
    return caught.value.diagnostics
