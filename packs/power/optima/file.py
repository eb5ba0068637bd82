"""Demands of a user's own, from an ``.npz``."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdual.dsl.diagnostics import refuse
from pdual.dsl.spans import Span
from pdual.packs.power.cases.tables import enumerated, named
from pdual.packs.power.optima.grid import Complexes
from pdual.runtime.sources.array_files import DAMAGED, Arrays

_ARRAYS = ("load_re", "load_im")


def read_demands(name: str, folder: Path, buses: int, span: Span) -> Complexes:
    """The demands in a file, [rows, bus] in per unit.

    Raises PD516 (no such file), PD517 (not ``load_re`` and ``load_im`` of that shape), PD518 (not finite).
    """
    place = folder / Path(name).expanduser()
    if not place.is_file():
        beside = sorted(str(Path(name).with_name(file.name)) for file in place.parent.glob("*.npz"))
        near = next(iter(get_close_matches(name, beside, n=1)), None)
        raise refuse("PD516", span, file=name, searched=f"`{place}`", near=near)
    expected = f"`load_re` and `load_im`, numbers for every row and each of {buses} buses"
    try:
        arrays = Arrays(place)
        pair = [arrays[part] for part in _ARRAYS] if set(_ARRAYS) <= set(arrays) else []
        complaint = _complaint(pair, buses) if pair else enumerated(list(arrays)) or "no arrays"
    except DAMAGED as error:
        complaint = f"something else: {error}"
    if complaint:
        raise refuse("PD517", span, file=name, expected=expected, found=complaint)
    loads = pair[0].astype(np.float64) + 1j * pair[1].astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(loads).all(axis=1))
    if len(wrong):
        rows = named([str(row) for row in wrong], "row")
        raise refuse("PD518", span, file=name, rows=rows, count=len(wrong), total=len(loads))
    return loads


def _complaint(pair: Sequence[NDArray[Any]], buses: int) -> str | None:
    re, im = pair
    for name, array in zip(_ARRAYS, pair, strict=True):
        if array.dtype.kind not in "fiu" or array.ndim != 2 or array.shape[1] != buses or not len(array):
            return f"`{name}` of shape {list(array.shape)} and type {array.dtype}"
    return f"{len(re)} rows of `load_re`, {len(im)} of `load_im`" if len(re) != len(im) else None
