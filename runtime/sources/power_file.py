"""Demands of a user's own, from an ``.npz``."""

from __future__ import annotations

import zipfile
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdual.dsl.diagnostics import refuse
from pdual.dsl.spans import Span
from pdual.runtime.sources.power_grid import Complexes
from pdual.runtime.sources.power_tables import enumerated, named

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
    arrays = _read(place)
    if complaint := _complaint(arrays, buses):
        raise refuse("PD517", span, file=name, expected=expected, found=complaint)
    loads = arrays["load_re"].astype(np.float64) + 1j * arrays["load_im"].astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(loads).all(axis=1))
    if len(wrong):
        rows = named([str(row) for row in wrong], "row")
        raise refuse("PD518", span, file=name, rows=rows, count=len(wrong), total=len(loads))
    return loads


def _read(place: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz``, nothing where it is none; objects are never unpickled."""
    try:
        with place.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, TypeError, AttributeError, zipfile.BadZipFile):
        return {}


def _complaint(arrays: dict[str, NDArray[Any]], buses: int) -> str | None:
    if not set(_ARRAYS) <= set(arrays):
        return enumerated(list(arrays)) if arrays else "no arrays"
    re, im = (arrays[name] for name in _ARRAYS)
    for name, array in zip(_ARRAYS, (re, im), strict=True):
        if array.dtype.kind not in "fiu" or array.ndim != 2 or array.shape[1] != buses or not len(array):
            return f"`{name}` of shape {list(array.shape)} and type {array.dtype}"
    return f"{len(re)} rows of `load_re`, {len(im)} of `load_im`" if len(re) != len(im) else None
