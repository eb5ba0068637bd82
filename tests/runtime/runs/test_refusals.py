"""What a run refuses, each with its code, beside a neighbour that is accepted: ranges, files of rows, run folders, usage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from pdual.cli.main import main
from pdual.compiler.compile import lower
from pdual.dsl.catalogue import CATALOGUE, errors_in
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.runtime.data.context import SourceContext
from pdual.runtime.problem.options import RunOptions
from pdual.runtime.problem.prepare import load_tables
from pdual.runtime.runs.execute import execute, pick_device
from pdual.runtime.storage.folder import RunFolder

FIELDS = "x: real in [0, 1], y: real"
SPEC = """
problem tiny "t"
set kind = {{ cat, dog }}
data rows = csv("rows.csv", split = [0.6, 0.2, 0.2]) {{ {fields} }}
model f(x: real) -> real = mlp(hidden = [4])
over r in rows {{
  minimize (f(r.x) - r.y)^2 {scale}
  subject to near: {relation}
  dual near = pointwise(cap = 10)
}}
solve {{ outer = 2, descent = adam(lr = 1e-2, batch = 4, epochs = 1) }}
"""
GOOD = "x,y,k\n" + "".join(f"{i / 10},{i},{'cat' if i % 2 else 'dog'}\n" for i in range(10))


def text(fields: str = FIELDS, relation: str = "f(r.x) <= r.y + 1", scale: str = "") -> str:
    return SPEC.format(fields=fields, relation=relation, scale=scale)


def lowered(spec_text: str) -> tuple[Any, list[str]]:
    spec, found = read(Source("tiny.pdual", spec_text))
    assert spec is not None, found
    graph, more = lower(spec, {})
    return graph, [item.code for item in more]


def code_of(refusal: pytest.ExceptionInfo[Refusal]) -> str:
    return refusal.value.diagnostics[0].code


@pytest.mark.parametrize(
    ("relation", "codes"),
    [
        ("f(r.x) <= r.y", []),
        ("r.x <= 2 + 0 * f(r.x)", ["PD301"]),
        ("r.x + 0 * f(r.x)^2 <= 0.5", ["PD307"]),
        ("r.x >= 2 + f(r.x)^2", ["PD302"]),
    ],
)
def test_rows_that_always_or_never_hold(relation: str, codes: list[str]) -> None:
    assert lowered(text(relation=relation))[1] == codes


def test_a_row_that_never_holds_is_an_error_and_one_that_always_holds_a_warning() -> None:
    spec, _ = read(Source("tiny.pdual", text(relation="r.x >= 2 + f(r.x)^2")))
    assert spec is not None
    assert [item.code for item in errors_in(lower(spec, {})[1])] == ["PD302"]
    assert CATALOGUE["PD301"].severity != CATALOGUE["PD302"].severity


def test_a_scale_is_a_positive_constant() -> None:
    assert lowered(text(scale="scale 2 + 1"))[1] == []
    with pytest.raises(Refusal) as refusal:
        lowered(text(scale="scale r.y"))
    assert code_of(refusal) == "PD303"


def rows(folder: Path, content: str | bytes | None, fields: str = FIELDS, name: str = "rows.csv") -> Any:
    if content is not None:
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    spec, found = read(Source("tiny.pdual", text(fields).replace("rows.csv", name)))
    assert spec is not None, found
    return load_tables(spec, {}, SourceContext(folder=folder))["rows"]


def test_rows_of_a_csv(tmp_path: Path) -> None:
    table = rows(tmp_path, GOOD, "x: real in [0, 1], y: real, k: kind")
    assert {name: len(ids) for name, ids in table.splits.items()} == {"train": 6, "val": 2, "test": 2}
    assert table.columns["k"].tolist() == [1, 0] * 5
    assert table.columns["x"].dtype == torch.float64
    assert sorted(torch.cat(list(table.splits.values())).tolist()) == list(range(10))


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_texts_are_read_as_they_stand(name: str, tmp_path: Path) -> None:
    said = ["plain", "with, a comma", 'naïve — "quoted"', ""]
    quoted = [item.replace('"', '""') for item in said]
    content = "q,x,y\n" + "".join(f'"{item}",0,{place}\n' for place, item in enumerate(quoted))
    if name.endswith("jsonl"):
        content = "".join(json.dumps({"q": item, "x": 0, "y": place}) + "\n" for place, item in enumerate(said))
    table = rows(tmp_path, content, 'asked: text from "q", x: real, y: real', name)
    ids = torch.tensor([3, 0, 1, 2])
    assert table.batch(ids).values["asked"] == [said[place] for place in ids]
    assert table.batch(ids).values["y"].tolist() == ids.tolist()


def test_a_number_is_no_text(tmp_path: Path) -> None:
    content = "".join(json.dumps({"q": item, "x": 0, "y": 0}) + "\n" for item in ("a", 3, "b", None))
    with pytest.raises(Refusal) as refusal:
        rows(tmp_path, content, "q: text, x: real, y: real", "rows.jsonl")
    fact = refusal.value.diagnostics[0].fact
    assert (code_of(refusal), fact["rows"], fact["expected"]) == ("PD535", "rows 1, 3", "texts")


def test_a_column_may_have_another_name(tmp_path: Path) -> None:
    table = rows(tmp_path, GOOD.replace("y", "the y", 1), 'x: real, y: real from "the y"')
    assert table.columns["y"].tolist() == [float(i) for i in range(10)]


@pytest.mark.parametrize(
    ("content", "fields", "name", "code"),
    [
        (None, FIELDS, "rows.csv", "PD531"),
        (GOOD, FIELDS, "rows.txt", "PD532"),
        (b"\xff\xfe\x00", FIELDS, "rows.csv", "PD533"),
        ("", FIELDS, "rows.csv", "PD533"),
        ("x,y\n1,2,3\n", FIELDS, "rows.csv", "PD533"),
        ("x,y\n", FIELDS, "rows.csv", "PD533"),
        ("[1]\n", FIELDS, "rows.jsonl", "PD533"),
        (GOOD, "x: real, y: real, z: real", "rows.csv", "PD534"),
        (GOOD.replace("0.3", "nan"), FIELDS, "rows.csv", "PD535"),
        (GOOD.replace("0.3", "1.3"), FIELDS, "rows.csv", "PD535"),
        (GOOD.replace("cat", "cow"), "x: real, y: real, k: kind", "rows.csv", "PD535"),
        ("x,y\n1,2\n", FIELDS, "rows.csv", "PD536"),
    ],
)
def test_files_that_are_refused(content: Any, fields: str, name: str, code: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refusal:
        rows(tmp_path, content, fields, name)
    assert code_of(refusal) == code


def test_a_misfit_names_its_rows(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refusal:
        rows(tmp_path, GOOD.replace("0.3", "nan").replace("0.5", "x"))
    fact = refusal.value.diagnostics[0].fact
    assert (fact["rows"], fact["count"], fact["total"]) == ("rows 3, 5", "2", "10")


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        ("real", "finite numbers"),
        ("real in [0, inf]", "finite numbers, at least 0"),
        ("real in [-inf, 1]", "finite numbers, at most 1"),
        ("real in [0, 1]", "finite numbers, at least 0 and at most 1"),
    ],
)
def test_an_infinite_number_fits_nowhere(type: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refusal:
        rows(tmp_path, GOOD.replace("0.3", "inf"), f"x: {type}, y: {type}")
    assert refusal.value.diagnostics[0].fact["expected"] == expected


def test_rows_that_are_not_given() -> None:
    bound = text().replace('rows = csv("rows.csv", split = [0.6, 0.2, 0.2])', "rows")
    spec, found = read(Source("tiny.pdual", bound))
    assert spec is not None, found
    with pytest.raises(Refusal) as refusal:
        load_tables(spec, {}, SourceContext())
    assert code_of(refusal) == "PD530"


def ran(folder: Path, spec_text: str = "", given: Any = None, **options: Any) -> Any:
    (folder / "rows.csv").write_text(GOOD)
    graph, _ = lowered(spec_text or text())
    return execute(graph, spec_text or text(), RunOptions(**options), SourceContext(folder=folder), given)


def test_a_run_leaves_a_folder_that_can_be_read_and_gone_on_from(tmp_path: Path) -> None:
    done = ran(tmp_path, out=tmp_path / "run")
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["schema"] == 1
    folder = RunFolder.open(tmp_path / "run")
    assert folder.record.status == "finished"
    assert len(folder.log) == 2
    again = ran(tmp_path, out=tmp_path / "again")
    assert again.metrics.splits == done.metrics.splits
    other = ran(tmp_path, out=tmp_path / "other", initial=tmp_path / "run")
    assert other.metrics.status == "finished"


def test_run_folders_that_are_refused(tmp_path: Path) -> None:
    ran(tmp_path, out=tmp_path / "run")
    with pytest.raises(Refusal) as taken:
        ran(tmp_path, out=tmp_path / "run")
    with pytest.raises(Refusal) as missing:
        ran(tmp_path, out=tmp_path / "new", initial=tmp_path / "nowhere")
    with pytest.raises(Refusal) as another:
        ran(tmp_path, out=tmp_path / "run", resume=True, seed=7)
    with pytest.raises(Refusal) as shape:
        ran(tmp_path, text().replace("[4]", "[5]"), out=tmp_path / "wide", initial=tmp_path / "run")
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(Refusal) as damaged:
        _ = RunFolder.open(tmp_path / "run").record
    (tmp_path / "bare").mkdir()
    for name in ("run.json", "spec.pdual"):
        (tmp_path / "bare" / name).write_text("{}")
    with pytest.raises(Refusal) as empty:
        RunFolder.open(tmp_path / "bare").load()
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal) as unwritable:
        ran(tmp_path, out=tmp_path / "file" / "run")
    found = [code_of(item) for item in (taken, missing, another, shape, damaged, empty, unwritable)]
    assert found == ["PD622", "PD620", "PD604", "PD605", "PD621", "PD623", "PD624"]


def test_a_model_from_python_and_what_cannot_be_trained(tmp_path: Path) -> None:
    open_model = text().replace(" = mlp(hidden = [4])", "")
    with pytest.raises(Refusal) as missing:
        ran(tmp_path, open_model, out=tmp_path / "a")
    assert code_of(missing) == "PD610"
    still = text().replace("minimize (f(r.x) - r.y)^2", "minimize r.y").replace("f(r.x) <= r.y + 1", "r.x <= r.y + 5")
    with pytest.raises(Refusal) as weightless:
        ran(tmp_path, still.replace("model f(x: real) -> real = mlp(hidden = [4])\n", ""), out=tmp_path / "b")
    assert code_of(weightless) == "PD602"
    graph, _ = lowered(text())
    (tmp_path / "rows.csv").write_text(GOOD)
    dropped, _ = lower(graph.spec, {}, {"*": "none"}, minimize=False)
    with pytest.raises(Refusal) as nothing:
        execute(dropped, text(), RunOptions(out=tmp_path / "c", minimize=False), SourceContext(folder=tmp_path))
    assert code_of(nothing) == "PD603"
    with pytest.raises(Refusal) as rowless:
        ran(tmp_path, "problem p\nmodel f(x: real) -> real = linear()\nminimize squared_norm(f)\n", out=tmp_path / "d")
    assert code_of(rowless) == "PD609"


def test_devices() -> None:
    assert pick_device("cpu") == torch.device("cpu")
    if not torch.cuda.is_available():
        with pytest.raises(Refusal) as refusal:
            pick_device("cuda")
        assert code_of(refusal) == "PD630"


@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["explain", "opf30", "--nonsense"], "PD700", 2),
        (["explain", "opf30", "--dual", "voltag=shared"], "PD706", 2),
        (["explain", "opf30", "--uses", "nothing_here"], "PD709", 2),
        (["run", "digits", "--data", "rows=nowhere.csv"], "PD707", 2),
        (["run", "flora", "--data", "pairs=nowhere.csv"], "PD708", 2),
        (["run", "digits", "--data", "digits=nowhere.csv"], "PD718", 2),
        (["explain", "digits", "--rows", "1", "--data", "digits=nowhere.csv"], "PD718", 2),
        (["bounds", "opf30", "--rows", "--data", "demands=nowhere.csv"], "PD718", 2),
        (["run", "digits", "--resume"], "PD711", 2),
    ],
)
def test_usage(
    arguments: list[str],
    code: str,
    exit_code: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["pdual", *arguments])
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main())
    said = capsys.readouterr()
    assert code in said.err + said.out
    assert ended.value.code == exit_code
    assert list(tmp_path.iterdir()) == []
