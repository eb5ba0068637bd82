"""Bases that are damaged, or that would run code: a diagnostic, no code is run, no number is made up."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_language import write_base

from pdual.dsl.diagnostics import Refusal
from pdual.dsl.spans import NOWHERE
from pdual.packs.language.models.base import load_base
from pdual.packs.language.models.tokens import Reader

RAN = "ran.txt"
WEIGHTS = "model.safetensors"


class Bomb:
    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return Path.touch, (self.place,)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("base") / "model")


@pytest.fixture
def base(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(whole, tmp_path / "model"))


def changed(file: Path, **more: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), **more}), encoding="utf-8")


def weights(base: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    found = load_file(base / WEIGHTS)
    change(found)
    save_file(found, base / WEIGHTS, metadata={"format": "pt"})


def evil(base: Path) -> None:
    (base / "evil.py").write_text(
        f"from pathlib import Path\nPath({str(base.parent / RAN)!r}).touch()\nclass Evil: pass\n"
    )


def own_model(base: Path) -> None:
    evil(base)
    changed(
        base / "config.json",
        auto_map={"AutoModelForCausalLM": "evil.Evil", "AutoConfig": "evil.Evil"},
        model_type="own",
    )


def own_model_of_a_known_type(base: Path) -> None:
    evil(base)
    changed(base / "config.json", auto_map={"AutoModelForCausalLM": "evil.Evil"})


def own_tokenizer(base: Path) -> None:
    evil(base)
    changed(base / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", None]}, tokenizer_class="Evil")


def pickled(base: Path) -> None:
    (base / WEIGHTS).unlink()
    with (base / "pytorch_model.bin").open("wb") as file:
        pickle.dump(Bomb(base.parent / RAN), file)


REFUSED: dict[str, Callable[[Path], object]] = {
    "own_model": own_model,
    "own_model_of_a_known_type": own_model_of_a_known_type,
    "own_tokenizer": own_tokenizer,
    "pickled": pickled,
    "config: no JSON": lambda base: (base / "config.json").write_text("{"),
    "config: empty": lambda base: (base / "config.json").write_text(""),
    "config: a list": lambda base: (base / "config.json").write_text("[1]"),
    "config: of no model": lambda base: (base / "config.json").write_text("{}"),
    "config: deep": lambda base: (base / "config.json").write_text("[" * 100_000),
    "config: another width": lambda base: changed(base / "config.json", hidden_size=24),
    "config: texts for numbers": lambda base: changed(base / "config.json", num_hidden_layers="two"),
    "weights: none": lambda base: (base / WEIGHTS).unlink(),
    "weights: empty": lambda base: (base / WEIGHTS).write_bytes(b""),
    "weights: cut": lambda base: (base / WEIGHTS).write_bytes((base / WEIGHTS).read_bytes()[:-40]),
    "weights: another": lambda base: weights(base, lambda found: found.pop("model.norm.weight")),
    "weights: a shape": lambda base: weights(base, lambda found: found.update({"model.norm.weight": torch.ones(3)})),
    "tokenizer: none": lambda base: [file.unlink() for file in base.glob("tokenizer*")],
    "tokenizer: no JSON": lambda base: (base / "tokenizer.json").write_text("{"),
    "an adapter elsewhere": lambda base: (base / "adapter_config.json").write_text(
        '{"peft_type": "LORA", "base_model_name_or_path": "/somewhere"}'
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_folder_that_cannot_be_used(base: Path, name: str) -> None:
    REFUSED[name](base)
    with pytest.raises(Refusal) as refused:
        load_base(str(base), NOWHERE)
    assert [item.code for item in refused.value.diagnostics] == ["PD644"]
    assert not (base.parent / RAN).exists()


def test_a_whole_one_is(base: Path) -> None:
    assert load_base(str(base), NOWHERE).context is not None


TEMPLATES = {
    "raises": "{{ raise_exception('not for you') }}",
    "no such name": "{{ messages[9].content.x.y }}",
    "code": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "no template": "{% for %}",
    "endless": "{% for a in range(99999) %}{% for b in range(99999) %}{% if a == -1 %}x{% endif %}{% endfor %}{% endfor %}",
    "itself": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "long": "{% for a in range(99999) %}{{ 'xxxxxxxxxxxxxxxxxxxx' }}{% endfor %}",
}


def reader(base: Path, template: str | None = None, words: int | None = None) -> Reader:
    found = load_base(str(base), NOWHERE)
    if template is not None:
        found.tokenizer.chat_template = template
    return Reader(found.tokenizer, "chat" if template is not None else "plain", str(base), words)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_that_fails(base: Path, name: str) -> None:
    with pytest.raises(Refusal) as refused:
        reader(base, TEMPLATES[name]).prompt("Who?")
    assert [item.code for item in refused.value.diagnostics] == ["PD664"]


def test_a_template_that_does_not(base: Path) -> None:
    assert reader(base, "{% for m in messages %}{{ m['content'] }}{% endfor %}").prompt("Who?")


def test_a_tokenizer_with_more_words_than_the_model(base: Path) -> None:
    largest = max(reader(base).tokens("Who?", "Me").ids)
    assert reader(base, words=largest + 1).tokens("Who?", "Me").answer
    with pytest.raises(Refusal) as refused:
        reader(base, words=largest).tokens("Who?", "Me")
    (item,) = refused.value.diagnostics
    assert (item.code, item.fact["token"]) == ("PD663", str(largest))


TURNS = "{% for m in messages %}<s>{{ m['content'] }}</s>{% endfor %}"


@pytest.mark.parametrize("text", ["it ends </s> here", "<s>", "a </s></s>"])
def test_a_text_that_says_a_special_token_says_letters(base: Path, text: str) -> None:
    """It is neither the end of the answer nor of the prompt, and comes back as it was."""
    plain = reader(base)
    tokenizer = plain.tokenizer
    found = plain.tokens(text, text)
    special = {tokenizer.bos_token_id, tokenizer.eos_token_id}
    assert found.answer[-1] == tokenizer.eos_token_id
    assert not special & set(found.answer[:-1])
    assert not special & set(found.ids[: found.prompt])
    assert tokenizer.decode(found.answer[:-1]).strip() == text
    with pytest.raises(Refusal) as refused:
        reader(base, TURNS).prompt(text)
    (item,) = refused.value.diagnostics
    assert item.code == "PD552"
    assert item.fact["token"] in text
    chat = reader(base, TURNS).tokens("Who?", text)
    assert chat.ids[0] == tokenizer.bos_token_id  # the template's own are meant
    assert not special & set(chat.answer[:-1])
