"""``causal_lm``: a pretrained language model, token by token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from pdual.dsl.declarations.architecture import Architecture, Complaint
from pdual.dsl.declarations.beside import ModelName
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.sample import Sample
from pdual.dsl.declarations.signature import Output, Signature, Sizes
from pdual.dsl.types import TEXT, ArrayType, Kind, OpenAxis, RaggedAxis, SetAxis

#: An output of this name is the largest logit of a token less their mean.
LOGIT_GAP = "logit_gap"
#: Outputs of these names are of every word of the vocabulary: its logit, and its log-probability.
LOGITS, LOGPROBS = "logits", "logprobs"
WIDE = (LOGITS, LOGPROBS)


class CausalLmSettings(Settings):
    """``causal_lm(base, template = "chat")``.

    ``base`` is any causal language model that transformers loads, by its name on the hub or by its folder, or the folder of a
    run that trained one. ``template`` says how prompt and answer become one text: ``chat`` as the tokenizer's own chat template
    has it, ``plain`` as ``Question: ... Answer: ...``. ``lora`` is the rank of the adapter that is trained (0: the weights
    themselves are), ``lora_alpha`` its scale; ``layers`` trains only the last so many layers (0: all of them). ``max_tokens``
    bounds prompt and answer together. ``checkpointing`` computes activations again in the backward pass, for less memory.
    ``half`` holds weights under an adapter in bfloat16. With ``layers`` those before the ones that train are evaluated once a row
    and what they hand on is held, in at most ``held`` MB (where it needs more, or with 0, they are evaluated every time).
    """

    base: ModelName = Field(min_length=1)
    template: Literal["chat", "plain"] = "chat"
    lora: int = Field(default=0, ge=0)
    lora_alpha: float = Field(default=16.0, gt=0)
    layers: int = Field(default=0, ge=0)
    max_tokens: int = Field(default=512, ge=2)
    checkpointing: bool = False
    half: bool = False
    held: int = Field(default=1024, ge=0)


def _complaints(signature: Signature, settings: Settings) -> Iterable[Complaint]:
    assert isinstance(settings, CausalLmSettings)
    if len(signature.inputs) != 2:
        yield Complaint("inputs", "a prompt and an answer, both `text`", f"{len(signature.inputs)} inputs")
    else:
        for name, array in signature.inputs:
            if array != TEXT:
                yield Complaint(name, "text", str(array))
    if settings.half and not settings.lora:
        yield Complaint("half", "an adapter to train (`lora`), beside weights in half precision", "`lora = 0`")
    beside = (LOGIT_GAP, *WIDE)
    if not signature.outputs or sum(output.name not in beside for output in signature.outputs) > 1:
        more = f"`{LOGIT_GAP}: real[token]`, `{LOGITS}` or `{LOGPROBS}: real[token, word]`"
        expected = f"`logprob: real[token]`, and where they are wanted {more}"
        yield Complaint("outputs", expected, f"{len(signature.outputs)} outputs")
        return
    for output in signature.outputs:
        yield from _of_output(output)
    if len({output.type.axes[:1] for output in signature.outputs}) > 1:
        yield Complaint("outputs", "one axis for all outputs, the answer's tokens", "several")


def _of_output(output: Output) -> Iterable[Complaint]:
    name, axes = output.name or "output", output.type.axes
    tokens, words = axes[:1], axes[1:]
    fits = bool(tokens) and isinstance(tokens[0], RaggedAxis)
    if output.name in WIDE:
        if not (fits and len(words) == 1 and isinstance(words[0], SetAxis)) or output.type.element is not Kind.REAL:
            yield Complaint(name, "real[token, word], one number for every word at every token", str(output.type))
            return
    elif not fits or words or output.type.element is not Kind.REAL:
        yield Complaint(name, "real[token], one number for every token", str(output.type))
        return
    if output.low is not None or output.high is not None:
        yield Complaint(name, "an output without a range: it has its own", "a range")


def _features(signature: Signature, settings: Settings, sizes: Sizes) -> ArrayType:
    axis = signature.outputs[0].type.axes[0]
    name = axis.name if isinstance(axis, RaggedAxis) else "token"
    return ArrayType(Kind.REAL, (RaggedAxis(name), OpenAxis()))


def _parameters(signature: Signature, settings: Settings, sizes: Sizes) -> None:
    return None  # only the base model's own files tell


def _whole(settings: Settings) -> str:
    assert isinstance(settings, CausalLmSettings)
    return (
        f"run it without `--quick` where a network is, which downloads `{settings.base}` once; "
        "or name the folder of a causal language model as `base`"
    )


def _is_of_the_hub(settings: Settings) -> bool:
    """Whether the base is a name of the hub; a folder is the user's own."""
    assert isinstance(settings, CausalLmSettings)
    return not settings.base.startswith((".", "/", "~")) and settings.base.count("/") <= 1


CAUSAL_LM = Architecture(
    name="causal_lm",
    summary="a pretrained causal language model: the log-probability of every token of the answer",
    settings=CausalLmSettings,
    positional=("base",),
    complaints=_complaints,
    features=_features,
    parameters=_parameters,
    builder="pdual.packs.language.models.causal_lm:build",
    sample=Sample(
        words="a language model of two layers of 64 units, made from nothing on this machine, which has learnt the sample's texts and knows no others",
        whole=_whole,
        covers=_is_of_the_hub,
        present="pdual.packs.language.models.base:present",
        builder="pdual.packs.language.models.sample:build",
    ),
)
