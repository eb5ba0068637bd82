"""``causal_lm``: the log-probability of every token of an answer, by a pretrained model that transformers loads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Signature
from pdual.dsl.diagnostics import refuse
from pdual.dsl.spans import Span
from pdual.dsl.types import Axis, SetAxis
from pdual.packs.language.declarations.architecture import LOGIT_GAP, WIDE, CausalLmSettings
from pdual.packs.language.models.base import blocks_of, fingerprint, load_base, origin, with_adapter
from pdual.packs.language.models.frozen import FrozenLm
from pdual.packs.language.models.frozen_layers import FrozenLayers
from pdual.packs.language.models.language_model import TOKEN, LanguageModel, of_words, pairs_by_row, pairs_of
from pdual.packs.language.models.lazy_mapping import LazyMapping
from pdual.packs.language.models.tokens import Reader, TokenBatch, Tokens, batch_of
from pdual.runtime.data.context import ArchitectureContext
from pdual.runtime.data.tables import Ragged
from pdual.runtime.models.called_rows import CalledRows
from pdual.runtime.models.interface import Answers, ModelOutput

#: Tokens of an answer that a report quotes, at most.
LONGEST = 100


class CausalLm(LanguageModel):
    """A causal language model on pairs of texts.

    Outputs, of each token of the answer (the last one ends it): its log-probability, and where it is asked for the largest
    logit less their mean. Features: what the last layer reads where that token is predicted.

    Its state holds the weights that train and says what they were built on; all others come from the base again.
    """

    def __init__(self, signature: Signature, settings: CausalLmSettings, span: Span) -> None:
        super().__init__()
        (self.prompt, _), (self.answer, _) = signature.inputs
        self.outputs = tuple(output.name for output in signature.outputs)
        self.signature, self.settings, self.span = signature, settings, span
        base = load_base(settings.base, span)
        if settings.template == "chat" and getattr(base.tokenizer, "chat_template", None) is None:
            raise refuse("PD646", span, base=settings.base)
        self.reader = Reader(base.tokenizer, settings.template, settings.base, _vectors(base.model), span)
        self.limit = min(settings.max_tokens, base.context or settings.max_tokens)
        self.context = base.context
        self._origin = origin(settings, fingerprint(base.model))
        self.head: tuple[nn.Module] = (
            base.model.get_output_embeddings(),
        )  # in a tuple: it is a part of the model already
        self._wanted: TokenBatch | None = None
        self._seen: Tensor | None = None
        self.head[0].register_forward_pre_hook(self._where_wanted)
        if settings.checkpointing:
            _checkpointed(base.model)
        self.model = _trainable(base.model, settings, span)
        self._frozen_layers = FrozenLayers(blocks_of(base.model), settings.layers, settings.held)
        self.register_state_dict_post_hook(_only_trained)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_post_hook(_others_are_there)  # type: ignore[no-untyped-call]

    def forward(self, inputs: Mapping[str, Any]) -> ModelOutput:
        """Texts, [batch] each, to [total] numbers of all tokens, and features [total, width]."""
        pairs = pairs_of(inputs[self.prompt], inputs[self.answer])
        batch = self.reader.batch(pairs, self.device)
        features, logits = self.logits(batch)
        makers = {
            name: lambda name=name: Ragged(self._read(name, batch, logits), batch.offsets) for name in self.outputs
        }
        return ModelOutput(LazyMapping(makers), {TOKEN: Ragged(features, batch.offsets)})  # type: ignore[dict-item]

    def logits(self, batch: TokenBatch) -> tuple[Tensor, Tensor]:
        """Of every token of the answers: what the last layer reads, [total, width], and its logits, [total, vocabulary]."""
        self._wanted = batch
        try:
            with self._frozen_layers.reading(batch.tokens):
                logits = self.model(input_ids=batch.ids, use_cache=False).logits[0]
            seen = self._seen
        finally:
            self._wanted = self._seen = None
        assert seen is not None
        # What is held in half precision is read in whole.
        return _whole(seen), _whole(logits)

    def read(self, batch: TokenBatch, logits: Tensor) -> Mapping[str, Tensor]:
        """The outputs that are one number a token, by name: [total] each."""
        return {name: self._read(name, batch, logits) for name in self.narrow}

    def _read(self, name: str, batch: TokenBatch, logits: Tensor) -> Tensor:
        if name in WIDE:
            return of_words(name, logits)
        if name == LOGIT_GAP:
            return logits.amax(1) - logits.mean(1)
        return -functional.cross_entropy(logits, batch.targets, reduction="none")

    @property
    def logprob(self) -> str:
        """The name of the output that is the log-probability; KeyError where a spec has none."""
        return {name not in (LOGIT_GAP, *WIDE): name for name in self.outputs}[True]

    @property
    def narrow(self) -> tuple[str, ...]:
        """The outputs that are one number a token."""
        return tuple(name for name in self.outputs if name not in WIDE)

    @property
    def wide(self) -> tuple[str, ...]:
        """The outputs that say something of every word."""
        return tuple(name for name in self.outputs if name in WIDE)

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        found: torch.device = next(self.model.parameters()).device
        return found

    @property
    def dtype(self) -> torch.dtype:
        """Of the weights that train."""
        found: torch.dtype = next(item for item in self.model.parameters() if item.requires_grad).dtype
        return found

    @property
    def feature_width(self) -> int:
        """Numbers that the last layer reads for one token."""
        weight = self.head[0].weight
        assert isinstance(weight, Tensor)
        return int(weight.shape[1])

    @property
    def vocabulary(self) -> int:
        """Words that the last layer gives a logit."""
        weight = self.head[0].weight
        assert isinstance(weight, Tensor)
        return len(weight)

    def read_rows(self, called: CalledRows) -> None:
        """Tokenise and check the texts of these rows. Raises PD647, PD648, as ``check``."""
        pairs = pairs_by_row(called)
        self.expect(list(pairs.values()))
        for row, (prompt, answer) in pairs.items():
            self.check(prompt, answer, called.data, lambda row=row: called.table.address(row))  # type: ignore[misc]

    def expect(self, pairs: Sequence[tuple[str, str]]) -> None:
        """These pairs will be asked for, again and again."""
        self._frozen_layers.expect([self.reader.tokens(*pair).ids for pair in pairs])

    @torch.no_grad()
    def remember(self) -> None:
        """Hold what the layers that do not train say of the pairs that are expected."""
        training = self.training
        self.eval()
        self._frozen_layers.hold(self._at_ends, self.feature_width * self.dtype.itemsize)
        self.train(training)

    def _at_ends(self, rows: Sequence[tuple[int, ...]]) -> Tensor:
        """What the last layer reads at the end of each of these rows of tokens, [rows, width]."""
        ends = [Tokens(row, len(row) - 1) for row in rows]
        return self.logits(batch_of(ends, self.device))[0]

    def frozen(self) -> FrozenLm:
        """It as it is now: what it says of rows is remembered before it trains, and no weights are held twice."""
        return FrozenLm(self)

    @contextmanager
    def untrained(self) -> Iterator[Callable[[], AbstractContextManager[CausalLm]]]:
        """It as it was built, each time that what is given is entered: with its adapter switched off, else loaded once more for
        as long as this is open.
        """
        if self.settings.lora:
            yield self._without_adapter
            return
        copied = CausalLm(self.signature, self.settings, self.span).to(self.device, self.dtype).eval()
        copied._frozen_layers.share(self._frozen_layers)
        yield lambda: nullcontext(copied)

    @contextmanager
    def _without_adapter(self) -> Iterator[CausalLm]:
        with self.model.disable_adapter():
            yield self

    @torch.no_grad()
    def generate(self, prompts: Sequence[str], longest: int) -> list[str]:
        """The likeliest next token, again and again, until one ends the answer or there are ``longest``; in evaluation mode."""
        from transformers import GenerationConfig

        tokens = [self.reader.prompt(prompt) for prompt in prompts]
        width = max(len(item) for item in tokens)
        end = self.reader.tokenizer.eos_token_id
        ids = torch.zeros(len(tokens), width, dtype=torch.long)
        seen = torch.zeros_like(ids)
        for row, item in enumerate(tokens):
            ids[row, width - len(item) :] = torch.tensor(item)
            seen[row, width - len(item) :] = 1
        config = GenerationConfig(  # type: ignore[no-untyped-call]
            do_sample=False, max_new_tokens=longest, eos_token_id=end, pad_token_id=end if end is not None else 0
        )
        found = self.model.generate(
            input_ids=ids.to(self.device), attention_mask=seen.to(self.device), generation_config=config
        )
        texts: list[str] = self.reader.tokenizer.batch_decode(found[:, width:], skip_special_tokens=True)
        return texts

    @torch.no_grad()
    def answers(self, called: CalledRows) -> Answers:
        """The greedy answers of the model as it was built and as it is."""
        prompts = [prompt for prompt, _ in pairs_by_row(called).values()]

        def generated(model: CausalLm) -> list[str]:
            longest = max(len(model.reader.prompt(prompt)) for prompt in prompts)
            left = LONGEST if model.context is None else max(1, min(LONGEST, model.context - longest))
            return [text.strip() for text in model.generate(prompts, left)]

        with self.untrained() as original, original() as model:
            before = generated(model)
        columns = {"answered before": before, "answers now": generated(self)}
        return Answers(columns, f"the greedy answers are of at most {LONGEST} tokens")

    def check(self, prompt: str, answer: str, data: str, address: Callable[[], str]) -> None:
        """Tokenise a row, ``data[address()]``. Raises PD647 (an empty answer), PD648 (a row that is too long)."""
        if not answer.strip():
            raise refuse("PD647", self.span, data=data, address=address(), field=self.answer)
        tokens = self.reader.tokens(prompt, answer)
        if len(tokens.answer) == (
            self.reader.tokenizer.eos_token_id is not None
        ):  # what it says is no token to the tokenizer
            raise refuse("PD647", self.span, data=data, address=address(), field=self.answer)
        found = len(tokens.ids)
        if found > self.limit:
            longest = None if self.context is None or found <= self.context else self.context
            asked = None if found <= self.settings.max_tokens or longest else self.settings.max_tokens
            raise refuse(
                "PD648", self.span, data=data, address=address(), found=found, limit=self.limit,
                context=longest, asked=asked,
            )  # fmt: skip

    def get_extra_state(self) -> Mapping[str, Any]:
        """What its weights were built on."""
        return self._origin

    def set_extra_state(self, state: Any) -> None:
        """Raises PD654 where a state was built on other weights."""
        if (self.settings.lora or self.settings.layers) and state["weights"] != self._origin["weights"]:
            raise refuse("PD654", self.span, base=self.settings.base, saved=state["base"])

    def _apply(self, fn: Any, recurse: bool = True) -> CausalLm:
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.settings.half:
            for weight in self.model.parameters():
                if not weight.requires_grad:
                    weight.data = weight.data.to(torch.bfloat16)
        return self

    def _where_wanted(self, module: nn.Module, arguments: tuple[Any, ...]) -> Any:
        """The last layer is given the places that predict tokens of answers, and no others: [1, total, width]."""
        if self._wanted is None:
            return arguments
        hidden = arguments[0][self._wanted.rows, self._wanted.places]
        self._seen = hidden
        return (hidden.unsqueeze(0), *arguments[1:])


def _whole(values: Tensor) -> Tensor:
    return values if values.dtype is torch.float64 else values.float()


def _trainable(model: Any, settings: CausalLmSettings, span: Span) -> Any:
    """The model with exactly the weights that train asking for a gradient. Raises PD649 (so many layers it does not have)."""
    blocks = blocks_of(model)
    if settings.layers > len(blocks):
        raise refuse("PD649", span, base=settings.base, found=len(blocks), asked=settings.layers)
    if settings.lora:
        return with_adapter(model, settings.lora, settings.lora_alpha, settings.layers, span)
    if settings.layers:
        model.requires_grad_(False)
        for block in blocks[-settings.layers :]:
            block.requires_grad_(True)
    return model


def _checkpointed(model: Any) -> None:
    """Activations of a layer are computed again in the backward pass."""
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable({"use_reentrant": False})


def _only_trained(module: nn.Module, state: dict[str, Any], prefix: str, metadata: Any) -> None:
    """Leaves weights that do not train out of a state."""
    assert isinstance(module, CausalLm)
    trained = {name for name, weight in module.model.named_parameters(remove_duplicate=False) if weight.requires_grad}
    for name in [name for name in state if name.startswith(f"{prefix}model.")]:
        if name.removeprefix(f"{prefix}model.") not in trained:
            del state[name]


def _others_are_there(module: nn.Module, keys: Any) -> None:
    """Weights that do not train are not missing from a state."""
    assert isinstance(module, CausalLm)
    kept = set(module.state_dict())
    ends = {name for name, _ in module.named_parameters(remove_duplicate=False)} | {
        n for n, _ in module.named_buffers()
    }
    absent = ends - kept
    keys.missing_keys[:] = [key for key in keys.missing_keys if not any(key.endswith(name) for name in absent)]


def build(signature: Signature, settings: Settings, context: ArchitectureContext) -> nn.Module:
    """The builder of ``causal_lm``. Raises PD644 to PD646, PD649, PD653, PD655."""
    assert isinstance(settings, CausalLmSettings)
    model = CausalLm(signature, settings, context.span)
    for output in signature.outputs:
        _check_words(output.type.axes[1:], model, context)
    return model


def _check_words(axes: Sequence[Axis], model: CausalLm, context: ArchitectureContext) -> None:
    """Raises PD655 where a set of words is not as large as the vocabulary."""
    for axis in axes:
        assert isinstance(axis, SetAxis)
        asked = context.sizes[axis.set]
        if asked != model.vocabulary:
            raise refuse(
                "PD655", context.span, base=model.settings.base, found=model.vocabulary, set=axis.set, asked=asked,
                last=model.vocabulary - 1,
            )  # fmt: skip


def _vectors(model: Any) -> int | None:
    """How many tokens a model has vectors for, where it tells."""
    table = model.get_input_embeddings()
    return len(table.weight) if isinstance(table, nn.Embedding) else None
