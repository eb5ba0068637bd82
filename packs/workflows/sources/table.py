"""Rows of workflow-task pairs: positions into texts and graphs that are held once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from pdual.packs.workflows.graphs import GraphStore
from pdual.runtime.data.tables import RowBatch

#: Fields of a row as the source offers them.
FIELDS = ("workflow", "task", "question", "solved")


@dataclass(frozen=True)
class PairTable:
    """``workflow`` (a graph), ``task`` (its id), ``question`` ([dim]) and ``solved`` of every row.

    ``embeddings`` [texts, dim]; ``graph`` and ``question`` [rows] int64 point into ``graphs`` and ``embeddings``;
    ``workflow`` and ``task`` [rows] int64 are ids as the files have them. ``names``: each field's name in the spec.
    ``flipped`` [rows] bool: whose label was turned on purpose.
    """

    embeddings: Tensor
    graphs: GraphStore
    graph: Tensor
    question: Tensor
    workflow: Tensor
    task: Tensor
    solved: Tensor
    splits: Mapping[str, Tensor]
    fingerprint: str
    names: Mapping[str, str] = field(default_factory=lambda: {name: name for name in FIELDS})
    multipliers: Mapping[str, Tensor] = field(default_factory=dict)
    flipped: Tensor | None = None

    def __len__(self) -> int:
        return int(sum(len(ids) for ids in self.splits.values()))

    def batch(self, ids: Tensor) -> RowBatch:
        """The rows at these positions; only fields that the spec declares."""
        return RowBatch(ids, {name: self._field(offered, ids) for name, offered in self.names.items()})

    def _field(self, offered: str, ids: Tensor) -> object:
        if offered == "workflow":
            return self.graphs.batch(self.graph.index_select(0, ids), {"node": self.embeddings})
        if offered == "question":
            return self.embeddings.index_select(0, self.question.index_select(0, ids))
        return (self.task if offered == "task" else self.solved).index_select(0, ids)

    def address(self, row: int) -> str:
        """The ids of its workflow and its task."""
        return f"workflow {int(self.workflow[row])}, task {int(self.task[row])}"

    def to(self, device: torch.device, dtype: torch.dtype) -> PairTable:
        """The embeddings in ``dtype``, all of it on ``device``."""
        return replace(
            self,
            embeddings=self.embeddings.to(device, dtype),
            graphs=self.graphs.to(device),
            graph=self.graph.to(device),
            question=self.question.to(device),
            workflow=self.workflow.to(device),
            task=self.task.to(device),
            solved=self.solved.to(device),
            flipped=None if self.flipped is None else self.flipped.to(device),
            splits={name: ids.to(device) for name, ids in self.splits.items()},
        )

    def with_flips(self, share: float, seed: int) -> PairTable:
        """The labels of this share of the train rows turned, the rows drawn with ``seed``."""
        train = self.splits["train"]
        chosen = train[
            torch.randperm(len(train), generator=torch.Generator().manual_seed(seed))[: round(share * len(train))]
        ]
        flipped = torch.zeros_like(self.solved).index_fill_(0, chosen, True)
        mark = f"{self.fingerprint}/flip={share:g},{seed}"
        return replace(self, solved=self.solved ^ flipped, flipped=flipped, fingerprint=mark)

    def limited(self, rows: int) -> PairTable:
        """At most ``rows`` rows of each split; row positions stay what they were."""
        splits = {name: ids[:rows] for name, ids in self.splits.items()}
        return replace(self, splits=splits, fingerprint=f"{self.fingerprint}/limit={rows}")
