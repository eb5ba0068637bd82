"""A step of the tofu spec as one writes it by hand with transformers and torch alone, for timing."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import torch
from torch import Tensor


class Training:
    """A causal model of transformers under the four constraints a row, multipliers in a table.

    ``pairs``: question and answer of each row. ``layers``: so many of the last ones train, 0: all; ``lora``: the rank of an adapter
    that trains instead. ``whole``: all logits are computed, as is usual; else those at the tokens of answers, and no mask is made
    for what stands behind a row's end, where a causal model does not look. ``stay``: that many times
    KL(before || now) of what is kept is minimised in place of its NLL. ``read`` counts the tokens of the rows that steps drew.
    """

    def __init__(
        self,
        base: str,
        kept: Sequence[tuple[str, str]],
        forgotten: Sequence[tuple[str, str]],
        numbers: Any,
        layers: int,
        lora: int = 0,
        whole: bool = True,
        stay: float = 0.0,
    ) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
        self.tokenizer = AutoTokenizer.from_pretrained(base)
        self.whole, self.read = whole, 0
        if lora:
            from peft import LoraConfig, get_peft_model

            linear = [name for name, module in self.model.named_modules() if isinstance(module, torch.nn.Linear)]
            inside = [name for name in linear if name.startswith("model.layers.")]
            names = (
                [name for name in inside if int(name.split(".")[2]) >= len(self.model.model.layers) - layers]
                if layers
                else inside
            )
            config = LoraConfig(task_type="CAUSAL_LM", r=lora, lora_alpha=16.0, target_modules=names, lora_dropout=0.0)
            get_peft_model(self.model, config)  # in place: the model itself has the adapter now
        elif layers:
            self.model.requires_grad_(False)
            for block in self.model.model.layers[-layers:]:
                block.requires_grad_(True)
        self.model.train()
        trained = [weight for weight in self.model.parameters() if weight.requires_grad]
        self.optimiser = torch.optim.Adam(trained, lr=numbers["rate"], fused=True)
        self.numbers = numbers
        self.kept, self.forgotten = ([self._tokens(*pair) for pair in pairs] for pairs in (kept, forgotten))
        with torch.no_grad():
            self.then = [self._logprobs([item])[0] for item in self.forgotten]
            self.stay = stay
            if stay:
                self.hidden = [self._hidden([item])[0] for item in self.kept]
                head = self.model.lm_head.weight
                self.head = head.detach().clone() if head.requires_grad else head
        self.random = torch.Generator().manual_seed(0)

    def _tokens(self, question: str, answer: str) -> tuple[list[int], int]:
        turns = [{"role": "user", "content": question}]
        before = self.tokenizer.apply_chat_template(turns, add_generation_prompt=True)["input_ids"]
        after = self.tokenizer(answer, add_special_tokens=False)["input_ids"]
        return [*before, *after, self.tokenizer.eos_token_id], len(before)

    def _logprobs(self, rows: Sequence[tuple[list[int], int]]) -> list[Tensor]:
        return self._whole(rows) if self.whole else self._answers(rows)

    def _answers(self, rows: Sequence[tuple[list[int], int]]) -> list[Tensor]:
        hidden, targets = self._hidden(rows)
        every = -torch.nn.functional.cross_entropy(self.model.lm_head(hidden), targets, reduction="none")
        return list(every.split([len(tokens) - start for tokens, start in rows]))

    def _hidden(self, rows: Sequence[tuple[list[int], int]]) -> tuple[Tensor, Tensor]:
        """What the last layer reads where it predicts a token of an answer, and these tokens."""
        counts = [len(tokens) - start for tokens, start in rows]
        ids = torch.zeros(len(rows), max(len(tokens) for tokens, _ in rows), dtype=torch.long)
        for place, (tokens, _) in enumerate(rows):
            ids[place, : len(tokens)] = torch.tensor(tokens)
        each = torch.repeat_interleave(torch.tensor(counts))
        places = torch.cat([torch.arange(start, len(tokens)) for tokens, start in rows])
        hidden = self.model.model(input_ids=ids, use_cache=False).last_hidden_state[each, places - 1]
        return hidden, ids[each, places]

    def _unlikely(self, kept: Sequence[int]) -> Tensor:
        """The mean NLL of rows."""
        return -torch.stack([row.sum() for row in self._logprobs([self.kept[k] for k in kept])]).mean()

    def _moved(self, kept: Sequence[int]) -> Tensor:
        """KL(before || now), the mean over rows of the sum over their tokens."""
        with torch.no_grad():
            then = torch.nn.functional.linear(torch.cat([self.hidden[k] for k in kept]), self.head).log_softmax(1)
        now = self.model.lm_head(self._hidden([self.kept[k] for k in kept])[0]).log_softmax(1)
        return torch.nn.functional.kl_div(now, then, reduction="sum", log_target=True) / len(kept)

    def _whole(self, rows: Sequence[tuple[list[int], int]]) -> list[Tensor]:
        longest = max(len(ids) for ids, _ in rows)
        ids = torch.full((len(rows), longest), self.tokenizer.eos_token_id)
        seen = torch.zeros_like(ids)
        for place, (tokens, _) in enumerate(rows):
            ids[place, : len(tokens)] = torch.tensor(tokens)
            seen[place, : len(tokens)] = 1
        logits = self.model(input_ids=ids, attention_mask=seen, use_cache=False).logits[:, :-1]
        every = -torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
        return [row[start - 1 : len(tokens) - 1] for row, (tokens, start) in zip(every, rows, strict=True)]

    def loss(self, kept: Sequence[int], forgotten: Sequence[int]) -> Tensor:
        """What is minimised of kept rows and mean augmented Lagrangian of forgotten ones, multipliers 0."""
        keeping = self.stay * self._moved(kept) if self.stay else self._unlikely(kept)
        shift, band, share = (self.numbers[name] for name in ("shift", "band", "share"))
        total: Any = 0.0
        now = self._logprobs([self.forgotten[k] for k in forgotten])
        for row, place in zip(now, forgotten, strict=True):
            then = self.then[place]
            tail = max(1, ceil(share * len(row)))
            score = row.mean() - then.mean()
            most = row.topk(tail).values.mean() - then.topk(tail).values.mean()
            least = row.topk(tail, largest=False).values.mean() - then.topk(tail, largest=False).values.mean()
            g = torch.stack([score + shift, -shift - 2 * band - score, most + shift, -shift - 2 * band - least])
            total = total + self.numbers["rho"] / 2 * g.clamp(min=0).square().sum()
        return keeping + total / len(forgotten)

    def step(self) -> None:
        """One step on a batch of each."""
        kept, forgotten = (
            torch.randperm(len(rows), generator=self.random)[: self.numbers["batch"]].tolist()
            for rows in (self.kept, self.forgotten)
        )
        self.read += sum(len(self.kept[k][0]) for k in kept) + sum(len(self.forgotten[k][0]) for k in forgotten)
        self.loss(kept, forgotten).backward()
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
