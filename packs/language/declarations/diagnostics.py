"""Wording of mistakes in texts and language models."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import SAMPLE_NOTE, Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD550",
        "no split `{split}` of TOFU was found",
        label="named here",
        notes=("looked for {searched}", SAMPLE_NOTE),
        help=(
            "did you mean `{near}`?",
            "put `{split}.jsonl` of {publisher} into `{folder}`, where `PDUAL_DATA` names a folder of yours",
        ),
        reason="The splits of TOFU are looked for in `PDUAL_DATA` and in the cache, then downloaded from their publisher.",
    ),
    Entry(
        "PD551",
        "`{split}` has {found} rows, and {asked} are asked for",
        label="named here",
        reason="The split has fewer rows than the spec requires.",
    ),
    Entry(
        "PD552",
        "a text holds `{token}`, which the chat template of `{base}` could not tell from its own",
        label="the model that reads it",
        notes=("it is in `{text}`",),
        help=('write `template = "plain"`, which reads such a text letter by letter, or leave the row out',),
        reason=(
            "A prompt holds a text that the tokenizer of a chat model reads as one of its special tokens, such as the end of a text or of a "
            "turn. Within the chat template the model would take it for a part of the template, so a row could end its own turn or begin "
            "another. Answers, and prompts of the plain template, are read letter by letter."
        ),
    ),
    Entry(
        "PD555",
        "the tokenizer of `{base}` reads `{token}` in a text as a special token, not as letters",
        label="the model that reads it",
        notes=("it is in `{text}`",),
        help=("leave the row out, or take a base whose tokenizer has letters for it",),
        reason=(
            "A text of the data became one of the tokenizer's special tokens, such as the token that ends an answer, although it is read as "
            "plain letters. In such a tokenizer the special tokens are ordinary words of the vocabulary, or one token stands both for unknown "
            "words and for the end of a text. Training would teach the model to stop there."
        ),
    ),
    Entry(
        "PD644",
        "the language model `{base}` cannot be had: {reason}",
        label="named here",
        notes=("looked for in {searched}",),
        help=("name a folder that holds the model, its tokenizer and their configuration, or a model of the hub",),
        reason="The base of a language model is a folder, or a model of the Hugging Face hub, which is downloaded once.",
    ),
    Entry(
        "PD645",
        "`{package}`, which a language model needs, is not installed",
        label="needed here",
        help=("`pip install 'pdual[causal]'`",),
        reason="The packages for language models are optional dependencies.",
    ),
    Entry(
        "PD646",
        "the tokenizer of `{base}` has no chat template",
        label='`template = "chat"` needs one',
        help=('write `template = "plain"`, which needs none',),
        reason="A chat template says how a tokenizer writes the turns of a conversation. Base models have none.",
    ),
    Entry(
        "PD647",
        "the `{field}` of `{data}[{address}]` is empty",
        label="reads it",
        notes=("a constraint on its tokens would say nothing",),
        help=("leave such rows out of the data",),
        reason="An empty text has no tokens, so a constraint on its tokens would say nothing.",
    ),
    Entry(
        "PD648",
        "`{data}[{address}]` takes {found} tokens, and at most {limit} are read",
        label="reads it",
        notes=("the model itself reads at most {context}", "the setting `max_tokens` is {asked}"),
        help=("raise `max_tokens` from {asked}, or leave such rows out of the data", "leave such rows out of the data"),
        reason="A text longer than the model reads would be cut, and the constraint would apply to another text.",
    ),
    Entry(
        "PD649",
        "`{base}` has {found} layers, and `layers = {asked}` of them are to be trained",
        label="named here",
        reason="A model has a fixed number of layers, and no more than these can be trained.",
    ),
    Entry(
        "PD653",
        "`{base}` is a run with {found} language models, and one is wanted",
        label="named here",
        help=("name a run whose spec has one model `causal_lm(...)`",),
        reason="A run can be the base of a language model if its spec has exactly one language model. Its weights are then the base.",
    ),
    Entry(
        "PD654",
        "the saved weights were trained on top of others than those of `{base}`",
        label="named here",
        notes=("they were trained on top of `{saved}`, as it was then",),
        reason="Saved weights are stored as a difference from the weights of a base, so they need that base.",
    ),
    Entry(
        "PD655",
        "`{base}` has a vocabulary of {found} words, and `{set}` has {asked} members",
        label="one of its outputs is of every word of `{set}`",
        help=("write `set {set} = 0..{last}`, or set the parameter that its end is made of",),
        reason=(
            "`logits: real[token, word]` and `logprobs: real[token, word]` have one number for every word of the vocabulary. The set "
            "therefore has as many members as the model's last layer has outputs (`vocab_size` of its configuration; the tokenizer may know "
            "fewer words)."
        ),
    ),
    Entry(
        "PD663",
        "the tokenizer of `{base}` writes token {token}, and the model has vectors for {found}",
        label="named here",
        notes=("it is read in `{text}`",),
        help=("name a folder whose tokenizer and weights belong together",),
        reason="The tokenizer knows more words than the model has vectors for, so the two do not belong together.",
    ),
    Entry(
        "PD664",
        "the chat template of `{base}` fails: {reason}",
        label="named here",
        help=('write `template = "plain"`, which needs none',),
        reason="The chat template of a tokenizer is a small program. It failed on a prompt, or took too long.",
    ),
)
