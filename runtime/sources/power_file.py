"""Demands of a user's own, from an ``.npz``."""

from __future__ import annotations

import zipfile
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pdual.dsl.diagnostics import refuse
from pdual.dsl.spans import Span
from pdual.runtime.sources.power_grid import Complexes
from pdual.runtime.sources.power_tables import enumerated

_ARRAYS = ("load_re", "load_im")


def read_demands(name: str, folder: Path, buses: int, span: Span) -> Complexes:
    """The demands in a file, [rows, bus] in per unit.

    Raises PD516 (no such file), PD517 (not an ``.npz`` with ``load_re`` and ``load_im`` of that shape), PD518 (not finite).
    """
    place = folder / Path(name).expanduser()
    if not place.is_file():
        names = [file.name for file in place.parent.glob("*.npz")] if place.parent.is_dir() else []
        near = get_close_matches(place.name, names, n=1)
        raise refuse("PD516", span, file=name, searched=f"`{place}`", near=near[0] if near else None)
    re, im = _arrays(place, name, buses, span)
    loads = np.asarray(re, dtype=np.float64) + 1j * np.asarray(im, dtype=np.float64)
    wrong = [f"row {row}" for row in np.flatnonzero(~np.isfinite(loads).all(axis=1))]
    if wrong:
        raise refuse("PD518", span, file=name, rows=enumerated(wrong), count=len(wrong), total=len(loads))
    return loads


def _arrays(place: Path, name: str, buses: int, span: Span) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    expected = f"`load_re` and `load_im`, each a number for every row and each of {buses} buses"
    try:
        with np.load(place, allow_pickle=False) as stored:
            found = {array: stored[array] for array in _ARRAYS if array in stored.files}
            names = list(stored.files)
    except (OSError, ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile):
        raise refuse("PD517", span, file=name, expected=expected, found="no such arrays") from None
    if len(found) < len(_ARRAYS):
        held = enumerated(names) if names else "nothing"
        raise refuse("PD517", span, file=name, expected=expected, found=held)
    re, im = found["load_re"], found["load_im"]
    for title, array in found.items():
        if array.dtype.kind not in "fiu" or array.ndim != 2 or array.shape[1] != buses or not len(array):
            text = f"`{title}` of shape {list(array.shape)} and type {array.dtype}"
            raise refuse("PD517", span, file=name, expected=expected, found=text)
    if len(re) != len(im):
        text = f"{len(re)} rows of `load_re` and {len(im)} of `load_im`"
        raise refuse("PD517", span, file=name, expected=expected, found=text)
    return re, im
