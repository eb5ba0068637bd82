"""``causal_lm`` against a loop written with transformers, row by row in double precision."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from small_language import CONTEXT, PAIRS, VOCABULARY, WITH_GAP, WITH_WORDS, ByHand, columns, made, write_base
from torch import Tensor
from transformers import GraniteConfig, GraniteForCausalLM

from pdual.packs.language.models import causal_lm
from pdual.packs.language.models.base import blocks_of
from pdual.packs.language.models.causal_lm import CausalLm
from pdual.runtime.data.tables import Ragged


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("tiny"))


def said(model: Any, pairs: Any = PAIRS, name: str = "logprob") -> list[Tensor]:
    """An output, row by row."""
    found: Ragged = model(columns(pairs)).outputs[name]
    return list(torch.tensor_split(found.values, found.offsets[1:-1]))


def close(left: list[Tensor], right: list[Tensor], tolerance: float = 1e-10) -> bool:
    return all(a.shape == b.shape and torch.allclose(a, b, atol=tolerance) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("template", ["chat", "plain"])
def test_outputs_and_features_are_those_of_a_loop_over_rows(base: Path, template: str) -> None:
    model, by_hand = made(base, WITH_GAP, template=template), ByHand(base, template)
    rows = [by_hand.row(*pair) for pair in PAIRS]
    found = model(columns(PAIRS))
    assert close(said(model), [row[0] for row in rows])
    gaps = [row[2].amax(1) - row[2].mean(1) for row in rows]
    assert close(said(model, name="logit_gap"), gaps)
    features = found.features["token"]
    assert torch.equal(features.offsets, found.outputs["logprob"].offsets)
    assert torch.allclose(features.values, torch.cat([row[1] for row in rows]), atol=1e-10)
    assert model.feature_width == features.values.shape[1] == 16


def test_of_every_word_it_says_its_logit_and_its_log_probability(base: Path) -> None:
    model, by_hand = made(base, WITH_WORDS), ByHand(base)
    logits = [by_hand.row(*pair)[2] for pair in PAIRS]
    assert close(said(model, name="logits"), logits)
    assert close(said(model, name="logprobs"), [row.log_softmax(1) for row in logits])
    assert model.logprob == "logprob"
    weights = torch.linspace(-1, 1, model.vocabulary, dtype=torch.float64)
    sum((row @ weights).sum() for row in said(model, name="logprobs")).backward()  # type: ignore[union-attr]
    sum((row.log_softmax(1) @ weights).sum() for row in logits).backward()  # type: ignore[union-attr]
    wanted = dict(by_hand.model.named_parameters())
    for name, parameter in model.model.named_parameters():
        assert torch.allclose(parameter.grad, wanted[name].grad, atol=1e-9), name


def test_what_nobody_looks_at_is_not_computed(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def of_words(name: str, logits: Tensor) -> Tensor:
        asked.append(name)
        return logits

    monkeypatch.setattr(causal_lm, "of_words", of_words)
    found = made(base, WITH_WORDS)(columns(PAIRS)).outputs
    assert list(found) == ["logprob", "logit_gap", "logits", "logprobs"]
    assert len(found["logprob"].values) == len(found["logit_gap"].values)
    assert asked == []
    assert found["logits"] is found["logits"]
    assert asked == ["logits"]


def test_gradients_are_those_of_a_loop_over_rows(base: Path) -> None:
    model, by_hand = made(base), ByHand(base)
    weights = torch.linspace(-1, 2, len(PAIRS), dtype=torch.float64)
    sum(weight * row.sum() for weight, row in zip(weights, said(model), strict=True)).backward()  # type: ignore[union-attr]
    for weight, pair in zip(weights, PAIRS, strict=True):
        (weight * by_hand.row(*pair)[0].sum()).backward()
    wanted = dict(by_hand.model.named_parameters())
    assert wanted.keys() == dict(model.model.named_parameters()).keys()
    for name, parameter in model.model.named_parameters():
        assert torch.allclose(parameter.grad, wanted[name].grad, atol=1e-9), name


def test_other_rows_of_a_batch_do_not_show(base: Path) -> None:
    model = made(base, WITH_GAP)
    for name in ("logprob", "logit_gap"):
        alone = [said(model, [pair], name)[0] for pair in PAIRS]
        assert close(said(model, name=name), alone)
        assert close(said(model, PAIRS[::-1], name), alone[::-1])


def test_an_answer_has_its_tokens_and_one_that_ends_it(base: Path) -> None:
    model = made(base)
    (row,) = said(model, [("Is she a poet?", "y")])
    assert len(row) == 2
    tokens = model.reader.tokens("Is she a poet?", "y")
    assert len(tokens.answer) == 2
    assert tokens.answer[-1] == model.reader.tokenizer.eos_token_id
    assert model.reader.tokenizer.decode(tokens.ids[: tokens.prompt]) == "<s>[user] Is she a poet?\n[assistant] "


def test_a_text_of_the_spec_itself_is_the_same_for_all_rows(base: Path) -> None:
    model = made(base)
    answers = [answer for _, answer in PAIRS]
    found = model({"prompt": "Tell me.", "answer": answers}).outputs["logprob"]
    wanted = said(model, [("Tell me.", answer) for answer in answers])
    assert torch.equal(found.values, torch.cat(wanted))


def test_each_text_is_tokenised_once(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = made(base)
    asked: list[str] = []
    tokenizer = model.reader.tokenizer

    class Counting:
        def __call__(self, text: str, **options: Any) -> Any:
            asked.append(text)
            return tokenizer(text, **options)

        def __getattr__(self, name: str) -> Any:
            return getattr(tokenizer, name)

    monkeypatch.setattr(model.reader, "tokenizer", Counting())
    first = said(model)
    assert len(asked) == 2 * len(PAIRS)
    assert close(said(model, PAIRS[::-1])[::-1], first)
    assert len(asked) == 2 * len(PAIRS)


def write_granite(folder: Path, divided: float) -> Path:
    """A base whose logits are what its last layer says, divided by a number."""
    write_base(folder)
    torch.manual_seed(1)
    config = GraniteConfig(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=CONTEXT, initializer_range=0.3, logits_scaling=divided,
        tie_word_embeddings=True, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    GraniteForCausalLM(config).save_pretrained(folder)
    return folder


class TestFrozen:
    def test_it_says_what_the_model_said_before_it_was_trained(self, base: Path) -> None:
        model = made(base, WITH_GAP)
        before = {name: said(model, name=name) for name in model.outputs}
        frozen = model.frozen()
        frozen.expect(PAIRS[:4])
        frozen.remember()
        with torch.no_grad():
            for weight in model.parameters():
                weight += 0.1
        assert not close(said(model), before["logprob"])
        for name, rows in before.items():
            # The last two were not expected: the base is asked again.
            assert close(said(frozen, name=name), rows, 1e-7)
            assert not said(frozen, name=name)[0].requires_grad
        assert list(frozen.parameters()) == []
        assert frozen.state_dict() == {}

    @pytest.mark.parametrize("settings", [{}, {"lora": 2}, {"layers": 1}], ids=["all", "adapter", "last layer"])
    @pytest.mark.parametrize("divided", [1.0, 4.0], ids=["as its last layer says", "divided"])
    def test_of_every_word_too(self, tmp_path: Path, settings: dict[str, Any], divided: float) -> None:
        """A head that trains, or that is tied to what trains, was copied; logits that are not what it says are held."""
        model = made(write_granite(tmp_path, divided), WITH_WORDS, **settings)
        before = {name: said(model, name=name) for name in ("logits", "logprobs")}
        frozen = model.frozen()
        frozen.expect(PAIRS[:4])
        frozen.remember()
        with torch.no_grad():
            for weight in model.parameters():
                weight += 0.1 * weight.requires_grad
        assert not close(said(model, name="logits"), before["logits"], 1e-3)
        for name, rows in before.items():
            assert close(said(frozen, name=name), rows, 1e-6)
            assert close(said(frozen, PAIRS[3:5], name), rows[3:5], 1e-6)

    def test_a_row_is_evaluated_once(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        model = made(base)
        frozen = model.frozen()
        frozen.expect([*PAIRS, *PAIRS])
        frozen.expect(PAIRS)
        frozen.remember()

        def never(*_: object) -> Any:
            raise AssertionError("evaluated again")

        monkeypatch.setattr(CausalLm, "logits", never)
        assert len(said(frozen, [*PAIRS, *PAIRS])) == 2 * len(PAIRS)

    def test_its_features_are_those_of_the_base(self, base: Path) -> None:
        model = made(base)
        frozen, before = model.frozen(), model(columns(PAIRS)).features["token"].values.detach()
        with torch.no_grad():
            model.head[0].weight += 1
            model.model.model.norm.weight += 1
        features = frozen(columns(PAIRS)).features
        assert list(features) == ["token"]
        assert torch.allclose(features["token"].values, before, atol=1e-7)

    def test_features_that_are_read_are_remembered_too(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        model = made(base)
        frozen, before = model.frozen(), model(columns(PAIRS[::-1])).features["token"].values.detach()
        frozen.expect(PAIRS, features=True)
        frozen.remember()

        def never(*_: object) -> Any:
            raise AssertionError("evaluated again")

        monkeypatch.setattr(CausalLm, "logits", never)
        assert torch.allclose(frozen(columns(PAIRS[::-1])).features["token"].values, before, atol=1e-12)


class TestAdapter:
    def test_an_adapter_begins_as_the_model_and_is_all_that_trains(self, base: Path) -> None:
        plain, model = made(base), made(base, lora=2)
        assert close(said(model), said(plain))
        trained = [name for name, weight in model.named_parameters() if weight.requires_grad]
        assert trained
        assert all("lora_" in name for name in trained)
        # rank x (in + out) for each of the seven matrices of both layers
        assert sum(w.numel() for w in model.parameters() if w.requires_grad) == 2 * 2 * (
            (16 + 16) + 2 * (16 + 8) + (16 + 16) + 3 * (16 + 32)
        )

    def test_a_frozen_model_is_the_model_with_its_adapter_off(self, base: Path) -> None:
        model = made(base, lora=2)
        plain, frozen = said(model), model.frozen()
        shaken(model)
        assert not close(said(model), plain)
        assert close(said(frozen), plain)
        assert not close(said(model), plain)

    def test_it_adds_a_product_of_two_matrices_to_each_matrix(self, base: Path) -> None:
        model, by_hand = made(base, lora=2, lora_alpha=6.0), ByHand(base)
        shaken(model)
        weights = dict(model.model.named_parameters())
        with torch.no_grad():
            for name, weight in by_hand.model.named_parameters():
                stem = f"base_model.model.{name.removesuffix('.weight')}"
                if f"{stem}.lora_A.default.weight" in weights:
                    a, b = (weights[f"{stem}.lora_{side}.default.weight"] for side in "AB")
                    weight += 6.0 / 2 * b @ a
        assert close(said(model), [by_hand.row(*pair)[0] for pair in PAIRS])

    def test_weights_under_an_adapter_may_be_held_in_half_precision(self, base: Path) -> None:
        half, whole = made(base, lora=2, half=True).float(), made(base, lora=2).float()
        kinds = {weight.requires_grad: weight.dtype for weight in half.parameters()}
        assert kinds == {True: torch.float32, False: torch.bfloat16}
        found, wanted = torch.cat(said(half)), torch.cat(said(whole))
        assert found.dtype is half(columns(PAIRS)).features["token"].values.dtype is torch.float32
        assert 0 < float((found - wanted).detach().abs().max()) < 0.5
        found.sum().backward()
        assert all(weight.grad is not None for weight in half.parameters() if weight.requires_grad)


def shaken(model: CausalLm) -> None:
    torch.manual_seed(5)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight += 0.1 * torch.randn_like(weight)


@pytest.mark.parametrize("lora", [0, 2])
def test_the_last_layers_alone_may_train(base: Path, lora: int) -> None:
    model = made(base, layers=1, lora=lora)
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert trained
    assert all(".layers.1." in name for name in trained)
    assert close(said(model), said(made(base)))


def test_checkpointing_changes_no_gradient(base: Path) -> None:
    plain, sparing = made(base).train(), made(base, checkpointing=True).train()
    for model in (plain, sparing):
        torch.cat(said(model)).square().sum().backward()
    assert all(block.gradient_checkpointing for block in blocks_of(sparing))
    wanted = dict(plain.named_parameters())
    for name, weight in sparing.named_parameters():
        assert torch.allclose(weight.grad, wanted[name].grad, atol=1e-10), name


def test_there_is_no_noise_in_training(tmp_path: Path) -> None:
    folder = write_base(tmp_path / "noisy")
    config = (folder / "config.json").read_text().replace('"attention_dropout": 0.0', '"attention_dropout": 0.5')
    assert "0.5" in config
    (folder / "config.json").write_text(config)
    model = made(folder).train()
    assert close(said(model), said(model.eval()))


@pytest.mark.parametrize("settings", [{}, {"lora": 2}, {"layers": 1}])
def test_a_state_holds_what_trains_and_brings_it_back(base: Path, settings: dict[str, Any]) -> None:
    model = made(base, **settings)
    shaken(model)
    state = copy.deepcopy(model.state_dict())
    trained = {f"model.{name}" for name, weight in model.model.named_parameters() if weight.requires_grad}
    assert state.keys() == trained | {"_extra_state"}
    again = made(base, seed=9, **settings)
    again.load_state_dict(state)
    assert close(said(again), said(model), 0.0)
    incomplete = {name: value for name, value in state.items() if name != sorted(trained)[0]}
    with pytest.raises(RuntimeError, match="Missing key"):
        again.load_state_dict(incomplete)
