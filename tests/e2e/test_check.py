from __future__ import annotations

import io
from pathlib import Path

import pytest
from running import ROOT, say

GOOD = 'problem good "x"\nmodel f(x: real) -> real = linear()\nminimize squared_norm(f)\n'
BAD = GOOD.replace("problem good", "problem bad") + "metric = 3\n"


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "good.pdual").write_text(GOOD)
    (tmp_path / "bad.pdual").write_text(BAD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("specs")
def test_a_good_spec_is_fine_and_a_bad_one_is_not(capsys):
    good = say(capsys, "check", "good.pdual")
    assert (good.code, good.err) == (0, "")
    assert good.out == "checked 1 spec: no mistakes\n"
    bad = say(capsys, "check", "bad.pdual")
    assert bad.code == 1
    assert "--> bad.pdual:4:" in bad.out
    assert bad.out.endswith("checked 1 spec: 1 error\n")


@pytest.mark.usefixtures("specs")
def test_several_specs_are_counted_together(capsys):
    said = say(capsys, "check", "good.pdual", "bad.pdual")
    assert said.code == 1
    assert said.out.endswith("checked 2 specs: 1 error\n")


@pytest.mark.usefixtures("specs")
def test_json_is_one_document_with_every_diagnostic(capsys):
    said = say(capsys, "check", "bad.pdual", "good.pdual", "--json")
    assert (said.code, said.err) == (1, "")
    document = said.json
    assert (document["command"], document["exit_code"]) == ("check", 1)
    bad, good = document["specs"]
    assert (good["spec"], good["diagnostics"]) == ("good.pdual", [])
    (found,) = bad["diagnostics"]
    assert found["severity"] == "error"
    assert found["file"] == "bad.pdual"
    assert found["start"]["line"] == 4


@pytest.mark.parametrize("name", ["opf30", "opf30.pdual", "specs/opf30", "specs/opf30.pdual"])
@pytest.mark.usefixtures("specs")
def test_shipped_specs_are_found_from_anywhere(capsys, name: str):
    assert say(capsys, "check", name) == (0, "checked 1 spec: no mistakes\n", "")


@pytest.mark.usefixtures("specs")
def test_a_file_goes_before_a_shipped_spec(capsys):
    Path("opf30").write_text(BAD)
    assert say(capsys, "check", "opf30").code == 1


@pytest.mark.parametrize("name", ["other/opf30.pdual", "specs/deeper/opf30.pdual"])
@pytest.mark.usefixtures("specs")
def test_a_path_elsewhere_is_no_shipped_spec(capsys, name: str):
    assert say(capsys, "check", name).code == 2


@pytest.mark.usefixtures("specs")
def test_a_missing_file_is_met_with_the_near_name(capsys):
    beside = say(capsys, "check", "goo.pdual")
    assert beside.code == 2
    assert "error[PD701]: there is no spec `goo.pdual`" in beside.out
    assert "did you mean `good.pdual`?" in beside.out
    assert "did you mean `opf30`?" in say(capsys, "check", "opf31").out


def test_a_folder_is_no_spec(capsys, tmp_path: Path):
    said = say(capsys, "check", str(tmp_path))
    assert said.code == 2
    assert "PD702" in said.out
    (tmp_path / "only.pdual").write_text(GOOD)
    assert f"did you mean `{tmp_path / 'only.pdual'}`?" in say(capsys, "check", str(tmp_path)).out


def test_a_file_that_cannot_be_read_is_said(capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    place = tmp_path / "locked.pdual"
    place.write_text(GOOD)

    def refused(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refused)
    said = say(capsys, "check", str(place))
    assert said.code == 2
    assert f"error[PD703]: `{place}` cannot be read: permission denied" in said.out


@pytest.mark.usefixtures("specs")
def test_structure_that_is_not_there_is_a_mistake_in_the_data(capsys):
    text = (ROOT / "specs" / "opf30.pdual").read_text().replace("pglib_opf_case30_ieee", "no_such_case")
    Path("grid.pdual").write_text(text)
    said = say(capsys, "check", "grid.pdual")
    assert said.code == 3
    assert "error[PD501]" in said.out


def test_the_first_spec_of_the_docs_is_fine(capsys):
    assert say(capsys, "check", str(ROOT / "docs" / "first" / "first.pdual")).code == 0


def test_the_readme_shows_that_spec():
    spec = (ROOT / "docs" / "first" / "first.pdual").read_text()
    assert len(spec.splitlines()) == 12
    assert f"```pdual\n{spec}```" in (ROOT / "README.md").read_text()


# --- standard input, the long text of a code, SARIF ------------------------------------------------------------


def test_standard_input_is_a_spec_called_minus(capsys, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    said = say(capsys, "check", "-")
    assert said.code == 1
    assert "--> -:4:" in said.out


def test_the_long_text_of_a_code_shows_a_failing_spec_what_is_said_and_the_repair(capsys):
    said = say(capsys, "check", "--explain", "pd204")
    assert (said.code, said.err) == (0, "")
    heads = ["PD204: ", "A spec that fails:", "error[PD204]: ", "= help: write `at[g]`", "Repaired:", "(r.load[at[g]])"]
    places = [said.out.index(head) for head in heads]
    assert places == sorted(places)


def test_the_long_text_of_a_code_of_runs_is_a_paragraph(capsys):
    said = say(capsys, "check", "--explain", "PD601")
    assert said.code == 0
    assert "Repaired" not in said.out
    assert "`lr`" in said.out


def test_the_long_text_as_json(capsys):
    explanation = say(capsys, "check", "--explain", "PD007", "--json").json["explanation"]
    assert explanation["code"] == "PD007"
    assert " = 0" in explanation["failing"]
    assert " == 0" in explanation["repaired"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--explain", "PD20"], "error[PD790]: `PD20` is no code of a diagnostic"),
        (["--explain", "PD204", "opf30"], "error[PD791]: `--explain` does not go with the spec `opf30`"),
        (["--explain", "PD204", "--sarif"], "error[PD791]: `--explain` does not go with `--sarif`"),
        (["opf30", "--sarif", "--json"], "PD791"),
        ([], "error[PD700]: missing argument `SPEC...`"),
    ],
)
def test_what_does_not_go_together_is_refused(capsys, arguments: list[str], told: str):
    said = say(capsys, "check", *arguments)
    assert said.code == 2
    assert told in said.out + said.err


def test_sarif_has_a_result_for_every_diagnostic_with_its_place_and_its_fix(capsys, specs: Path):
    (specs / "near.pdual").write_text(GOOD.replace("squared_norm(f)", "squared_norm(ff)"))
    said = say(capsys, "check", "bad.pdual", "good.pdual", "near.pdual", "missing.pdual", "--sarif")
    assert said.code == 2
    assert said.json["version"] == "2.1.0"
    (run,) = said.json["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[result["ruleIndex"]] for result in run["results"]] == [item["ruleId"] for item in run["results"]]
    at = {item["ruleId"]: item["locations"][0]["physicalLocation"] for item in run["results"]}
    assert {code: place["artifactLocation"]["uri"] for code, place in at.items()} == {
        "PD002": "bad.pdual",
        "PD227": "near.pdual",
        "PD701": "missing.pdual",
    }
    assert at["PD227"]["region"] == {"startLine": 3, "startColumn": 23, "endLine": 3, "endColumn": 25}
    assert "region" not in at["PD701"]
    (fixed,) = (item for item in run["results"] if item["ruleId"] == "PD227")
    (change,) = fixed["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [
        {"deletedRegion": at["PD227"]["region"], "insertedContent": {"text": "f"}},
    ]
