"""No text of the data becomes a special token, whatever kind of tokenizer reads it; else it is refused."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdual.dsl.diagnostics import Refusal
from pdual.packs.language.models.tokens import Reader, signs_of

pytest.importorskip("transformers")

WORDS = ("<s>", "</s>", "<unk>", "<turn>", "say", "no", "Question:", "Answer:", "a", "</s")


@cache
def tokenizer(kind: str) -> Any:
    """One made on the spot: of words between blanks, of words and signs, of likely pieces, of bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    places = {word: place for place, word in enumerate(WORDS)}
    unknown = "</s>" if kind == "one for all" else "<unk>"
    if kind == "bytes":
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        letters = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=300, special_tokens=list(WORDS[:4]), initial_alphabet=letters, show_progress=False
        )
        made.train_from_iterator(["say no", "</s>"], trainer)
    elif kind == "pieces":
        made = Tokenizer(models.Unigram([(word, -1.0 - place) for word, place in places.items()], 2))
        made.pre_tokenizer = pre_tokenizers.Metaspace()
    else:
        made = Tokenizer(models.WordLevel(places, unknown))
        made.pre_tokenizer = pre_tokenizers.WhitespaceSplit() if kind == "words" else pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", made.token_to_id("<s>"))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        bos_token="<s>",
        eos_token="</s>",
        unk_token=unknown,
        additional_special_tokens=["<turn>"],
    )


TEXTS = st.lists(st.sampled_from((*WORDS, "</", "s>", "b")), min_size=1, max_size=6).map(" ".join)


@pytest.mark.parametrize("kind", ["words", "signs", "pieces", "bytes"])
@given(prompt=TEXTS, answer=TEXTS)
def test_a_text_never_becomes_a_special_token(kind: str, prompt: str, answer: str) -> None:
    made = tokenizer(kind)
    try:
        found = Reader(made, "plain").tokens(prompt, answer)
    except Refusal as refused:
        refusal = refused
    else:
        refusal = None
    if refusal is not None:
        assert [item.code for item in refusal.diagnostics] == ["PD555"]
        assert kind != "bytes"
        assert any(token in f"{prompt} {answer}" for token in WORDS[:4])
        return
    signs = {made.convert_tokens_to_ids(token) for token in ("<s>", "</s>", "<turn>")}
    assert found.ids[0] == made.bos_token_id
    assert found.ids[-1] == made.eos_token_id
    assert not signs & set(found.ids[1:-1])
    if kind == "bytes":
        assert made.decode(found.answer[:-1]) == f" {answer}"
    if not any(token in f"{prompt} {answer}" for token in WORDS[:4]):  # a plain text is what the tokenizer makes of it
        assert list(found.answer[:-1]) == made(f" {answer}", add_special_tokens=False)["input_ids"]


def test_one_token_for_what_is_unknown_and_for_the_end() -> None:
    made = tokenizer("one for all")
    assert made.eos_token_id in signs_of(made)
    assert Reader(made, "plain").tokens("say", "a no").answer[-1] == made.eos_token_id
    with pytest.raises(Refusal) as refused:
        Reader(made, "plain").tokens("say", "a zebra")
    assert refused.value.diagnostics[0].fact["token"] == "</s>"
    assert tokenizer("words").unk_token_id not in signs_of(tokenizer("words"))
