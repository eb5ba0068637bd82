"""The specs beside tofu run on a tiny model: what they minimise, by hand, and what one run leaves to the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from small_language import PAIRS, VOCABULARY, ByHand, write_base, write_rows

from pdual.compiler.compile import lower
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.runtime.data.context import SourceContext
from pdual.runtime.models.interface import remember
from pdual.runtime.optimisation.placement import Placement
from pdual.runtime.problem.options import RunOptions
from pdual.runtime.problem.prepare import load_tables, prepare
from pdual.runtime.problem.problem import Options
from pdual.runtime.runs.execute import execute
from pdual.runtime.training.training_sets import build_training_sets

SPECS = Path(__file__).parents[3] / "specs"
ROWS = {"retain": PAIRS[:3], "forget": PAIRS[3:], "known": PAIRS}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("tiny"))


def graph_of(name: str, base: Path, **params: str) -> Any:
    text = (SPECS / f"{name}.pdual").read_text(encoding="utf-8")
    overrides = {"base": str(base), **({} if name == "tofu_finetune" else {"rows": "3"}), **params}
    spec, found = read(Source(f"{name}.pdual", text), overrides)
    assert spec is not None, found
    return lower(spec, {})[0], text


def files(folder: Path) -> dict[str, Path]:
    return {name: write_rows(folder, name, pairs) for name, pairs in ROWS.items()}


def training_sets(name: str, base: Path, folder: Path, **params: str) -> Any:
    graph, _ = graph_of(name, base, **params)
    places = {data: place for data, place in files(folder).items() if data in {item.name for item in graph.spec.data}}
    problem = prepare(graph, load_tables(graph.spec, {}, SourceContext(files=places)), torch.float64, {})
    problem.models.eval()
    with torch.no_grad():  # not where it began, so that now and before differ
        remember(problem.models)
        problem.models["lm"].model.model.norm.weight *= 1.2
    return {
        training_set.name: training_set
        for training_set in build_training_sets(problem, Options(placement=Placement(precision="float64")))
    }


def by_hand(base: Path, pair: tuple[str, str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities of a row now and before."""
    model = ByHand(base)
    then = model.row(*pair)[0].detach()
    with torch.no_grad():
        model.model.model.norm.weight *= 1.2
    return model.row(*pair)[0].detach(), then


def test_graddiff_descends_one_loss_and_ascends_the_other(base: Path, tmp_path: Path) -> None:
    found = training_sets("tofu_graddiff", base, tmp_path, weight="0.5")
    for name, sign in (("retain", -1.0), ("forget", 0.5)):
        objective = found[name].evaluate("train").objective
        wanted = [sign * by_hand(base, pair)[0].mean() for pair in ROWS[name]]
        assert torch.allclose(objective, torch.stack(wanted), atol=1e-9)


def test_npo_lets_rows_go_that_are_unlikely_already(base: Path, tmp_path: Path) -> None:
    found = training_sets("tofu_npo", base, tmp_path, beta="0.2", weight="3")
    wanted = []
    for pair in ROWS["forget"]:
        now, then = by_hand(base, pair)
        # -(2 / beta) log sigmoid(-beta log(p / p_before)), as it was published
        wanted.append(-(2 / 0.2) * torch.nn.functional.logsigmoid(-0.2 * (now.sum() - then.sum())))
    assert torch.allclose(found["forget"].evaluate("train").objective, torch.stack(wanted), atol=1e-9)
    kept = [-3 * by_hand(base, pair)[0].mean() for pair in ROWS["retain"]]
    assert torch.allclose(found["retain"].evaluate("train").objective, torch.stack(kept), atol=1e-9)


def test_pdu_keeps_one_average_over_what_is_retained(base: Path, tmp_path: Path) -> None:
    """Its G is the mean over rows of a row's mean nats a token, and steps of the retained rows follow its multiplier."""
    found = training_sets("tofu_pdu", base, tmp_path, most="0.1")
    passed = found["retain"].evaluate("train")
    wanted = torch.stack([-by_hand(base, pair)[0].mean() for pair in ROWS["retain"]])
    assert torch.allclose(passed.averaged[:, 0], wanted, atol=1e-9)
    assert passed.kept is None
    assert passed.objective is None
    assert found["forget"].evaluate("train").averaged is None


def test_kl_of_what_is_kept_is_that_of_whole_distributions(base: Path, tmp_path: Path) -> None:
    found = training_sets("tofu_kl", base, tmp_path, words=str(VOCABULARY), stay="3")
    model, wanted = ByHand(base), []
    then = [model.row(*pair)[2].detach().log_softmax(1) for pair in ROWS["retain"]]
    with torch.no_grad():
        model.model.model.norm.weight *= 1.2
    for pair, before in zip(ROWS["retain"], then, strict=True):
        now = model.row(*pair)[2].detach().log_softmax(1)
        wanted.append(3 * torch.nn.functional.kl_div(now, before, reduction="sum", log_target=True))
    assert torch.allclose(found["retain"].evaluate("train").objective, torch.stack(wanted), atol=1e-9)


def test_kl_and_tofu_ask_the_same_of_what_is_forgotten() -> None:
    """They differ in what is minimised alone."""
    forgetting = [
        (SPECS / f"{name}.pdual").read_text(encoding="utf-8").split("over x in forget ")[1]
        for name in ("tofu_kl", "tofu")
    ]
    assert len(forgetting[0]) > 900
    assert forgetting[0] == forgetting[1]


def test_pdu_runs_and_its_multiplier_rises_while_the_average_is_missed(base: Path, tmp_path: Path) -> None:
    places = files(tmp_path / "rows")
    graph, text = graph_of("tofu_pdu", base, rate="1e-2", rounds="4", most="0.5")
    data = {name: places[name] for name in ("retain", "forget")}
    outcome = execute(graph, text, RunOptions(data=data, out=tmp_path / "pdu"), SourceContext())
    untrained = -torch.stack([ByHand(base).row(*pair)[0].mean().detach() for pair in ROWS["retain"]]).mean()
    kept = [line.averages["kept"] for line in outcome.run.history]
    levels = [item.multiplier for item in kept]
    assert levels[0] == 0.0
    for before, after, item in zip(levels, levels[1:], kept, strict=False):
        assert after == pytest.approx(max(0.0, before + item.residual), rel=1e-4)
    train = outcome.metrics.splits["train"]
    assert train.averages["kept"].means[0] < 0.9 * float(untrained)
    assert train.families["kept"].multiplier == train.averages["kept"].multiplier
    assert train.averages["kept"].violated == (not outcome.verdict.feasible)


def test_what_is_learnt_is_handed_over_and_forgotten(base: Path, tmp_path: Path) -> None:
    places = files(tmp_path / "rows")
    graph, text = graph_of("tofu_finetune", base, rate="1e-2", rounds="8")
    learnt = execute(
        graph, text, RunOptions(data={"known": places["known"]}, out=tmp_path / "known"), SourceContext()
    ).metrics.splits["train"]
    untrained = -torch.stack([ByHand(base).row(*pair)[0].mean().detach() for pair in PAIRS]).mean()
    assert learnt.metrics["nats_per_token"].mean < 0.8 * float(untrained)
    graph, text = graph_of("tofu_npo", tmp_path / "known", rate="1e-2", rounds="4")
    data = {name: places[name] for name in ("retain", "forget")}
    forgot = execute(graph, text, RunOptions(data=data, out=tmp_path / "npo"), SourceContext()).metrics.splits["train"]
    assert forgot.metrics["forgetting_score"].mean < -0.1
    before = forgot.evaluations["language.scores"]["retain"]["nats_per_token_before"]
    assert before < 0.8 * float(untrained)
