"""``pdual export``: programs that need no pdual, and say what pdual says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from running import say

import pdual

SPEC = """problem small "Two curves under bounds"
set kind = 0..2
data points = csv("points.csv", split = [0.5, 0.25, 0.25]) { x: real[2], is: kind, y: real }
model f(x: real[2]) -> { low: real, high: real[kind] } = mlp(hidden = [8])
model h(x: real[2]) -> real[kind] = mlp(hidden = [8], output_bias = -1)
over p in points {
  let (low, high) = f(p.x)
  minimize (low - p.y)^2
  subject to
    below: low <= p.y
    level: low == high[0]
    above[k in kind where k != p.is]: high[k] >= p.y
  dual below = learned(mlp(hidden = [8]), on = features(f), cap = 3)
  dual level = shared(cap = 3)
  dual above[k] = 5 * sigmoid(h(p.x)[k])
}
solve { outer = 4, rho = 5.0, descent = adam(lr = 1e-2, batch = 8, steps = 8), ascent = adam(lr = 5e-2, batch = 8, steps = 20) }
"""

#: A process that has no pdual: what it computes with the exported programs, into a file.
ELSEWHERE = """
import json, sys
import numpy as np
import onnxruntime
folder, rows, out = sys.argv[1:]
inputs = dict(np.load(rows))
found = {}
for program in json.load(open(f"{folder}/export.json"))["programs"]:
    session = onnxruntime.InferenceSession(f"{folder}/{program['files']['onnx']}", providers=["CPUExecutionProvider"])
    assert [item.name for item in session.get_inputs()] == list(program["inputs"]), session.get_inputs()
    values = session.run(program["outputs"], {name: inputs[name] for name in program["inputs"]})
    found |= dict(zip(program["outputs"], values))
assert not any(name.split(".")[0] in ("pdual", "torch") for name in sys.modules)
np.savez(out, **found)
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    random = np.random.default_rng(1)
    text = "x.0,x.1,is,y\n" + "".join(
        f"{a},{b},{n % 3},{y}\n" for n, (a, b, y) in enumerate(random.normal(size=(40, 3)).round(4))
    )
    (folder / "points.csv").write_text(text)
    (folder / "small.pdual").write_text(SPEC)
    return folder


@pytest.fixture(scope="module")
def run(here: Path) -> pdual.Run:
    return pdual.load(here / "small.pdual").solve(out=here / "run")


def test_programs_say_elsewhere_what_pdual_says(capsys, here: Path, run: pdual.Run, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'pdual[export]'")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install 'pdual[export]'")
    said = say(capsys, "export", str(here / "run"))
    assert (said.code, said.err) == (0, "")
    folder = here / "run" / "export"
    assert {Path(line).name for line in said.out.split()} == {
        "f.pt2", "f.onnx", "multipliers-points.pt2", "multipliers-points.onnx", "export.json"
    }  # fmt: skip
    for count in (1, 7):  # other batches than the one it was traced with
        x = np.random.default_rng(count).normal(size=(count, 2)).astype(np.float32)
        np.savez(tmp_path / "rows.npz", x=x)
        arguments = [str(folder), str(tmp_path / "rows.npz"), str(tmp_path / "found.npz")]
        done = subprocess.run(
            [sys.executable, "-c", ELSEWHERE, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        found = np.load(tmp_path / "found.npz")
        rows = torch.from_numpy(x)
        predicted = run.predict("f", {"x": rows})
        assert found["f.low"] == pytest.approx(predicted["low"].numpy(), abs=1e-5)
        assert found["f.high"] == pytest.approx(predicted["high"].numpy(), abs=1e-5)
        # `where` leaves an entry of every row out, which the program does not know of
        expected = [run.multipliers({"x": rows, "is": torch.full((count,), kind)}) for kind in range(2)]
        whole = torch.cat([expected[0]["below"], expected[0]["level"], expected[0]["above"]], 1).numpy().copy()
        whole[:, 2] = expected[1]["above"][:, 0].numpy()
        assert found["multipliers"] == pytest.approx(whole, abs=1e-5)
        with torch.no_grad():
            again = torch.export.load(folder / "f.pt2").module()(rows)
            multipliers = torch.export.load(folder / "multipliers-points.pt2").module()(rows)
        assert again[0].numpy() == pytest.approx(predicted["low"].numpy(), abs=1e-5)
        assert multipliers.numpy() == pytest.approx(whole, abs=1e-5)
    columns = json.loads((folder / "export.json").read_text())["columns"]["multipliers-points"]
    assert [f"{item['part']}[{item['entry']}]" for item in columns] == [
        "below[]",
        "level[]",
        "above[0]",
        "above[1]",
        "above[2]",
    ]


def test_what_cannot_be_exported_is_told(capsys, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install 'pdual[export]'")
    monkeypatch.chdir(here)
    assert say(capsys, "run", "small.pdual", "--dual", "shared", "--out", "level", "-q").code == 0
    said = say(capsys, "export", "level")
    assert said.code == 0
    assert "warning[PD736]: `multipliers-points` cannot be written as torch.export or ONNX" in said.err
    assert "they do not depend on the row" in said.err
    assert (here / "level" / "export" / "f.onnx").is_file()


def test_without_the_exporter(capsys, here: Path, run: pdual.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    said = say(capsys, "export", str(run.folder))
    assert (said.code, said.out) == (2, "")
    assert "error[PD735]: `onnxscript`" in said.err
