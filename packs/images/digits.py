"""``digits()``: scikit-learn's handwritten digits, 8 x 8 pixels. They ship with the library; nothing is downloaded."""

from __future__ import annotations

from dataclasses import replace

import torch

from pdual.packs.images.declarations import DigitsSettings
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.tables import ColumnTable
from pdual.runtime.sources.divide import divide

_BRIGHTEST = 16.0  # pixels are counts from 0 to 16


def build(settings: DigitsSettings, context: SourceContext) -> ColumnTable:
    """``image`` [rows, 1, 8, 8] in [0, 1] and ``label`` [rows], the digit's position in its set."""
    from sklearn.datasets import load_digits

    found = load_digits()
    images = torch.from_numpy(found.images).to(torch.float64).unsqueeze(1) / _BRIGHTEST
    labels = torch.from_numpy(found.target).to(torch.int64)
    splits = divide(len(labels), settings.split, settings.seed)
    table = ColumnTable({"image": images, "label": labels}, splits, f"sklearn-digits/{settings!r}")
    if settings.limit is None:
        return table
    return replace(table, splits={name: ids[: settings.limit] for name, ids in splits.items()})
