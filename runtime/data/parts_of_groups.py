"""Batches of parts of groups: some rows of every group of a batch, so that a step sees many groups whatever their size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from pdual.compiler.program import Strata
from pdual.dsl.diagnostics import refuse
from pdual.runtime.data.sampling import Draw, Shuffle
from pdual.runtime.data.tables import Table

#: Rows that are asked at once what the filters keep of them.
PIECE = 4096


class PartStream:
    """``members`` rows, or all of a smaller group, of each of ``batch / members`` groups. Groups come in random order, every one once
    before any comes again, and so do the rows of each stratum of a group: ``strata`` is [rows], which filters keep a row. A stratum
    has its share of the part, one row at least, so a mean over rows that a filter keeps is unbiased.

    ``weights`` make a mean over rows unbiased: a row stands for as many rows as its stratum has for each that is drawn, and for as
    many groups as there are for each in a batch.
    """

    def __init__(
        self, rows: Tensor, groups: Tensor, strata: Tensor, members: int, batch: int, random: torch.Generator
    ) -> None:
        self._random = random
        codes = torch.unique(torch.stack([groups, strata], 1), dim=0, return_inverse=True)[1]
        owner = torch.unique(groups, return_inverse=True)[1]
        count = int(owner.max()) + 1
        sizes = torch.bincount(owner).tolist()
        each = max(1, min(count, batch // members))
        self._order = Shuffle(torch.arange(count), each, random)
        self._groups: list[list[Shuffle]] = [[] for _ in range(count)]
        shares: list[list[Tensor]] = [[] for _ in range(count)]
        for code in range(int(codes.max()) + 1):
            stratum = rows[codes == code]
            group = int(owner[codes == code][0])
            drawn = min(len(stratum), max(1, round(members * len(stratum) / sizes[group])))
            self._groups[group].append(Shuffle(stratum, drawn, random))
            shares[group].append(torch.full((drawn,), len(stratum) / drawn, dtype=torch.float64, device=rows.device))
        self._sizes = [sum(map(len, found)) for found in shares]
        self.rows_per_step = sum(self._sizes) * each / count
        self.groups_per_step = float(each)
        self._weights = [torch.cat(found) * (self.rows_per_step / len(rows) * count / each) for found in shares]

    def draw(self) -> Draw:
        """The next batch: a part of some groups, group after group."""
        groups = self._order.draw().tolist()
        ids = [stratum.draw() for group in groups for stratum in self._groups[group]]
        weights = torch.cat([self._weights[group] for group in groups])
        return Draw(torch.cat(ids), weights, [self._sizes[group] for group in groups])

    def state(self) -> dict[str, object]:
        """The order of groups and of the rows of every stratum, the places in them and the generator."""
        strata = [stratum.state() for group in self._groups for stratum in group]
        return {"groups": self._order.state(), "strata": strata, "random": self._random.get_state()}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a saved state."""
        self._order.load_state(state["groups"])
        strata = (stratum for group in self._groups for stratum in group)
        for stratum, saved in zip(strata, state["strata"], strict=True):
            stratum.load_state(saved)
        self._random.set_state(state["random"])


@torch.no_grad()
def strata_of_rows(strata: Strata | None, table: Table, ids: Tensor, data: str) -> Tensor:
    """Which filters keep each of these rows, as one number: [rows] int64. Raises PD607 where two filters of one mean keep one row,
    or filters of two means keep some of the same rows and not all: a part of a group would tell such a mean with a bias.
    """
    if strata is None:
        return torch.zeros(len(ids), dtype=torch.long, device=ids.device)
    kept = torch.cat([strata.kept(table.batch(piece).values, piece) for piece in torch.split(ids, PIECE)])
    together = {frozenset((one, other)) for mean in strata.means for one in mean for other in mean}
    for one in range(kept.shape[1]):
        for other in range(one):
            both = kept[:, one] & kept[:, other]
            same = bool((kept[:, one] == kept[:, other]).all()) and frozenset((one, other)) not in together
            if bool(both.any()) and not same:
                raise refuse("PD607", data=data, address=table.address(int(ids[both.nonzero()[0, 0]])))
    return (kept.long() << torch.arange(kept.shape[1], device=ids.device)).sum(1)
