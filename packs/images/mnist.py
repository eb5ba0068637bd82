"""``mnist()``: the 70,000 handwritten digits of MNIST, 28 x 28 pixels, in their published order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from pdual.packs.images.declarations import MNIST_ROWS, MnistSettings
from pdual.packs.images.mnist_files import PARTS, Bytes, load_parts, sampled_parts
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.tables import ColumnTable

_BRIGHTEST = 255.0

#: Mean and standard deviation of all pixels of the train images in [0, 1], as everybody rounds them.
MEAN, SPREAD = 0.1307, 0.3081


def build(settings: MnistSettings, context: SourceContext) -> ColumnTable:
    """``image`` [rows, 1, 28, 28], bytes that stand for [0, 1] or, ``standardised``, for [-0.4242, 2.8215], and ``label``
    [rows], the digit's position in its set.

    Rows of ``train`` come first, those of ``test`` after all of them, whatever ``limit`` leaves. Raises what
    ``load_parts`` raises.
    """
    content = hashlib.sha256("".join(part.sha256 for part in PARTS).encode()).hexdigest()[:24]
    return _table(load_parts(context), content, settings)


def build_sample(settings: MnistSettings, context: SourceContext) -> ColumnTable:
    """The images that ship with pdual. A row is called by its position in the whole."""
    found, content = sampled_parts()
    rows = [*found["train_rows"].tolist(), *(found["test_rows"] + MNIST_ROWS["train"]).tolist()]
    table = _table(found, content, settings)
    return replace(table, fingerprint=f"sample/{table.fingerprint}", labels=[str(row) for row in rows])


def _table(found: Mapping[str, Bytes], content: str, settings: MnistSettings) -> ColumnTable:
    images = torch.from_numpy(np.concatenate([found["train_images"], found["test_images"]])).unsqueeze(1)
    labels = torch.from_numpy(np.concatenate([found["train_labels"], found["test_labels"]])).to(torch.int64)
    sizes = {name: len(found[f"{name}_labels"]) for name in ("train", "test")}
    return ColumnTable(
        {"image": images, "label": labels},
        _splits(sizes, settings.limit),
        f"mnist/{content}/{settings!r}",
        levels={"image": _BRIGHTEST * SPREAD if settings.standardised else _BRIGHTEST},
        shifts={"image": MEAN / SPREAD} if settings.standardised else {},
    )


def _splits(sizes: Mapping[str, int], limit: int | None) -> Mapping[str, Tensor]:
    found: dict[str, Tensor] = {}
    start = 0
    for name, size in sizes.items():
        found[name] = torch.arange(start, start + size)[:limit]
        start += size
    return found
