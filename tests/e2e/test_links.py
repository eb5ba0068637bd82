"""A spec opens what lies in its folder, wherever links in it lead; the command line opens what it names."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import say

import pdual

HEAD = "problem p\n"
MODEL = "model f(x: real) -> real = mlp([4])\nover r in d { minimize (f(r.x) - r.x)^2 }\nsolve { outer = 1 }\n"
ROWS = "x\n0.1\n0.2\n0.3\n0.4\n0.5\n0.6\n0.7\n0.8\n0.9\n1.0\n"
CASE = 'given g = power.case({name}) {{ set bus }}\ndata d = csv("rows.csv") {{ x: real }}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for a spec, with links into it and out of it."""
    (tmp_path / "secret.csv").write_text(ROWS)
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "rows.csv").write_text(ROWS)
    folder = tmp_path / "spec"
    (folder / "below").mkdir(parents=True)
    (folder / "rows.csv").write_text(ROWS)
    (folder / "below" / "out.csv").symlink_to(tmp_path / "secret.csv")
    (folder / "below" / "again.csv").symlink_to("out.csv")
    (folder / "below" / "in.csv").symlink_to("../rows.csv")
    (folder / "below" / "circle.csv").symlink_to("circle.csv")
    (folder / "private").symlink_to(tmp_path / "private")
    return folder


def spec(folder: Path, data: str) -> str:
    file = folder / "p.pdual"
    file.write_text(HEAD + data + MODEL)
    return str(file)


@pytest.mark.parametrize(
    ("file", "target"),
    [("below/out.csv", "secret.csv"), ("below/again.csv", "secret.csv"), ("private/rows.csv", "private/rows.csv")],
)
def test_a_link_out_of_the_folder_is_refused(capsys, folder: Path, file: str, target: str) -> None:
    path = spec(folder, f'data d = csv("{file}") {{ x: real }}\n')
    for command in ("check", "explain", "run"):
        said = say(capsys, command, path)
        assert said.code == 1
        printed = said.out + said.err
        assert f"`{file}` is `{folder.parent / target}`; name it with `--data NAME=FILE`" in printed
        assert "error[PD260]" in printed
        assert f"--> {path}:2:14" in printed
    with pytest.raises(pdual.ProblemError, match="PD260"):
        pdual.load(path)


def test_links_that_stay_inside_and_those_that_lead_nowhere(capsys, folder: Path) -> None:
    assert say(capsys, "check", spec(folder, 'data d = csv("below/in.csv") { x: real }\n')).code == 0
    circle = spec(folder, 'data d = csv("below/circle.csv") { x: real }\n')
    assert say(capsys, "check", circle).code == 0
    said = say(capsys, "run", circle, "--out", str(folder / "run"), "-q")
    assert (said.code, "error[PD531]" in said.err) == (3, True)
    # A folder that is itself reached by a link is the folder.
    linked = folder.parent / "linked"
    linked.symlink_to(folder)
    assert say(capsys, "check", spec(linked, 'data d = csv("below/in.csv") { x: real }\n')).code == 0


def test_the_command_line_names_any_file(capsys, folder: Path) -> None:
    link, out = folder / "below" / "out.csv", folder.parent / "out"
    path = spec(folder, 'data d = csv("below/out.csv", split = [0.8, 0, 0.2]) { x: real }\n')
    assert say(capsys, "run", path, "--data", f"d={link}", "--out", str(out), "-q").code == 0
    assert say(capsys, "report", str(out)).code == 0  # the folder of a run is the user's own
    assert pdual.load(path, data={"d": {"x": [0.0, 1.0]}}).graph.spec.name == "p"
    path = spec(folder, 'param file = "rows.csv"\ndata d = csv(file, split = [0.8, 0, 0.2]) { x: real }\n')
    assert say(capsys, "run", path, "--set", f"file={link}", "--out", str(folder.parent / "set"), "-q").code == 0
    path = spec(folder, 'param file = "below/out.csv"\ndata d = csv(file) { x: real }\n')
    assert say(capsys, "check", path).code == 1
    assert say(capsys, "check", path, "--set", "file=below/out.csv").code == 0


def test_other_sources_and_models(capsys, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder.parent / "grid.m").write_text("function mpc = grid\n")
    (folder / "grid.m").symlink_to("../grid.m")
    said = say(capsys, "check", spec(folder, CASE.format(name='"grid"')))
    assert f"`grid` is `{folder.parent / 'grid.m'}`; make it a `param` and hand it in with `--set`" in said.out
    path = spec(folder, CASE.format(name='"pglib_opf_case30_ieee"'))
    assert "PD260" not in say(capsys, "check", path).out
    texts = (
        'data t = tofu("full") { question: text, answer: text }\n'
        "model lm(prompt: text, answer: text) -> { logprob: real[token] } = causal_lm(BASE)\n"
        "over x in t { minimize sum[k in token](lm(x.question, x.answer).logprob[k]) }\n"
    )

    def checked(base: str, *options: str, head: str = "") -> str:
        (folder / "m.pdual").write_text(HEAD + head + texts.replace("BASE", base))
        return say(capsys, "check", str(folder / "m.pdual"), *options).out

    # Models are folders relative to the current one, else names on the hub.
    monkeypatch.chdir(folder)
    assert "PD260" in checked('"private"')
    (folder / "model").mkdir()
    assert "PD260" not in checked('"model"')
    (folder / "model" / "model.safetensors").symlink_to(folder.parent / "secret.csv")
    assert "PD260" in checked('"model"')
    assert "PD260" not in checked("base", "--set", "base=model", head='param base = "model"\n')
    monkeypatch.chdir(folder.parent)
    assert "PD260" in checked('"private"')
    assert "PD260" not in checked('"somebody/private"')
    assert "PD260" in checked('"/srv/model"')
    texts = texts.replace('tofu("full")', 'tofu("../full")')
    assert "PD260" in checked('"somebody/private"')
