"""Layers that do not train are evaluated once a row, and nothing shows it: against the same model that evaluates them every time."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from small_language import CONTEXT, PAIRS, columns, made, write_base
from torch import Tensor, nn
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

from pdual.packs.language.models.base import blocks_of
from pdual.packs.language.models.causal_lm import CausalLm


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("three"), layers=3)


@pytest.fixture(scope="module")
def gpt(tmp_path_factory: pytest.TempPathFactory, base: Path) -> Path:
    """Another family: places are added to the embeddings, and layers take and return their arguments in another form."""
    folder = tmp_path_factory.mktemp("gpt")
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=3, n_head=4, n_positions=CONTEXT, initializer_range=0.3,
        bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def counted(model: CausalLm) -> list[int]:
    """How often each layer has worked, kept up to date."""
    found = [0] * len(blocks_of(model))
    for place, block in enumerate(blocks_of(model)):
        inner = next(item for item in block.modules() if item is not block)

        def seen(*_: Any, place: int = place) -> None:
            found[place] += 1

        inner.register_forward_hook(seen)
    return found


def with_held(folder: Path, **settings: Any) -> CausalLm:
    model = made(folder, **settings)
    model.expect(PAIRS)
    model.remember()
    return model


def answered(model: CausalLm, pairs: Any = PAIRS) -> Tensor:
    found: Tensor = model(columns(pairs)).outputs["logprob"].values  # type: ignore[union-attr]
    return found


@pytest.mark.parametrize("settings", [{}, {"lora": 2}, {"checkpointing": True}], ids=str)
@pytest.mark.parametrize("family", ["base", "gpt"])
def test_outputs_and_gradients_are_the_same(family: str, settings: Any, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(family)
    model, plain = with_held(folder, layers=1, **settings), made(folder, layers=1, held=0, **settings)
    worked = counted(model)
    for each in (model, plain):
        each.train()
        answered(each, PAIRS[1:5]).square().sum().backward()
    assert torch.allclose(answered(model), answered(plain), atol=1e-10)
    wanted = {name: weight.grad for name, weight in plain.named_parameters() if weight.grad is not None}
    found = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    assert found.keys() == wanted.keys()
    assert found
    assert all(torch.allclose(found[name], wanted[name], atol=1e-10) for name in wanted)
    assert worked[:2] == [0, 0]
    assert worked[2] >= 2


def test_a_row_that_nobody_expected_is_evaluated_whole(base: Path) -> None:
    model, plain = with_held(base, layers=1), made(base, layers=1, held=0)
    worked = counted(model)
    pairs = [*PAIRS[:2], ("Who is that?", "Nobody")]
    assert torch.allclose(answered(model, pairs), answered(plain, pairs), atol=1e-12)
    assert worked == [1, 1, 1]


def test_the_frozen_model_reads_what_is_held(base: Path) -> None:
    model = made(base, layers=1)
    before = model.frozen()
    model.expect(PAIRS)
    before.expect(PAIRS)
    model.remember()
    worked = counted(model)
    before.remember()
    assert worked == [0, 0, 1]
    assert torch.allclose(answered(model), before(columns(PAIRS)).outputs["logprob"].values, atol=1e-12)  # type: ignore[union-attr]


def test_the_model_as_it_was_built_reads_what_is_held_too(base: Path) -> None:
    model, plain = with_held(base, layers=1), made(base, layers=1, held=0)
    with torch.no_grad():
        for weight in blocks_of(model)[2].parameters():
            weight += 0.1
    with model.untrained() as original, original() as before:
        worked = counted(before)
        assert torch.allclose(answered(before), answered(plain), atol=1e-12)
    assert worked == [0, 0, 1]
    assert not torch.allclose(answered(model), answered(plain), atol=1e-3)


@pytest.mark.parametrize("settings", [{}, {"layers": 3}, {"layers": 1, "held": 0}], ids=str)
def test_where_all_layers_train_or_nothing_may_be_held_all_of_them_work(base: Path, settings: Any) -> None:
    model = with_held(base, **settings)
    worked = counted(model)
    answered(model)
    assert worked == [1, 1, 1]


def test_nothing_is_held_that_takes_too_much_memory(base: Path) -> None:
    model = made(base, layers=1, held=1)
    long = "word " * 60
    bytes_of_one = len(model.reader.tokens(long, "0").ids) * 16 * 8
    pairs = [(long, str(number)) for number in range(2**20 // bytes_of_one + 20)]
    model.expect(pairs)
    worked = counted(model)
    model.remember()
    assert worked == [0, 0, 0]


def test_nothing_is_held_where_a_layer_reads_more_of_the_earlier_ones(base: Path) -> None:
    model = made(base, layers=1)
    aside: list[Tensor] = []

    class Further(nn.Module):
        def forward(self, hidden: Tensor) -> Tensor:
            return hidden + aside[-1]

    first, last = blocks_of(model)[0], blocks_of(model)[2]
    first.get_submodule("input_layernorm").register_forward_hook(lambda block, given, found: aside.append(given[0]))
    further = Further()
    last.register_forward_hook(lambda block, given, found: further(found))
    model.expect(PAIRS)
    model.remember()
    worked = counted(model)
    answered(model)
    assert worked == [1, 1, 1]


def test_a_copy_runs_its_own_layers(base: Path) -> None:
    model = made(base, layers=1)
    before = answered(model)
    copied = copy.deepcopy(model)
    with torch.no_grad():
        for weight in blocks_of(copied)[0].parameters():
            weight += 0.1
    assert torch.equal(answered(model), before)
    assert not torch.allclose(answered(copied), before)
