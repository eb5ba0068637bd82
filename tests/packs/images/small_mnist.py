"""Small arrays that stand for the published ones of MNIST, and a machine that has neither data nor mirrors."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from local_mirror import Heard

from pdual.dsl.spans import Span
from pdual.packs.images import mnist_files
from pdual.packs.images.idx import idx_header
from pdual.runtime.data.context import SourceContext

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
KEYS = ("train_images", "train_labels", "test_images", "test_labels")
TEXT = "data digits = mnist() {"  # what the span of a refusal points at

#: The folder of the user's, a context with a cache of its own, and what was reported.
Places = tuple[Path, SourceContext, Heard]


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    shapes = ((6, 28, 28), (6,), (3, 28, 28), (3,))
    return {
        key: random.integers(0, 256 if len(shape) > 1 else 10, shape, np.uint8)
        for key, shape in zip(KEYS, shapes, strict=True)
    }


def idx(array: np.ndarray[Any, Any]) -> bytes:
    return idx_header(array) + array.tobytes()


PACKED = {f"{file}.gz": gzip.compress(idx(array)) for file, array in zip(FILES, arrays().values(), strict=True)}


def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """Empty places, where the small arrays are the published ones and no mirror answers."""
    small = [
        replace(part, shape=array.shape, sha256=hashlib.sha256(idx(array)).hexdigest())
        for part, array in zip(mnist_files.PARTS, arrays().values(), strict=True)
    ]
    monkeypatch.setattr(mnist_files, "PARTS", tuple(small))
    monkeypatch.setattr(mnist_files, "MIRRORS", ())
    monkeypatch.setenv("PDUAL_DATA", str(tmp_path / "data"))
    own = tmp_path / "data" / "mnist"
    own.mkdir(parents=True)
    heard = Heard()
    return own, SourceContext(span=Span(14, 19), cache=tmp_path / "cache", progress=heard), heard
