"""Make the samples that ship with pdual (``packs/*/samples``) from the published data that ``PDUAL_DATA`` names.

    python -P benchmarks/samples.py [--into FOLDER]

What is drawn is drawn with ``SEED``, in the order of the whole, so that the same data give the same rows; the files are the same byte for byte
with the same zlib. Licences lie beside them and are not written here.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

SEED = 0
#: Images of each digit.
IMAGES = {"train": 100, "test": 50}
#: Workflow-task pairs.
PAIRS = {"train": 1000, "val": 250, "test": 250}
#: Rows of TOFU that are kept beside the 40 of ``forget01``.
KEPT = 128

Lines: TypeAlias = Sequence[bytes]


def main() -> None:
    shipped = Path(__file__).resolve().parent.parent / "packs"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=shipped, metavar="FOLDER")
    into = parser.parse_args().into
    data = Path(os.environ["PDUAL_DATA"]).expanduser()
    for pack, name, make in (
        ("images", "mnist", images),
        ("workflows", "flora/Pipelines", pairs),
        ("language", "tofu", texts),
    ):
        folder = into / pack / "samples" / name
        folder.mkdir(parents=True, exist_ok=True)
        make(data / name, folder)
        for file in sorted(folder.iterdir()):
            print(f"{file.stat().st_size:>8,} {file}")


def images(data: Path, folder: Path) -> None:
    """As many of each digit, and where each stands in its published file."""
    found: dict[str, NDArray[Any]] = {}
    with np.load(data / "mnist.npz", allow_pickle=False) as stored:
        for split, count in IMAGES.items():
            labels = stored[f"{split}_labels"]
            random = np.random.default_rng(SEED)
            rows = np.sort(
                [random.choice(np.flatnonzero(labels == digit), count, replace=False) for digit in range(10)], None
            )
            found[f"{split}_images"], found[f"{split}_labels"] = stored[f"{split}_images"][rows], labels[rows]
            found[f"{split}_rows"] = rows.astype(np.int32)
    np.savez_compressed(folder / "mnist.npz", **found)


def pairs(data: Path, folder: Path) -> None:
    """Records as they are, and the embeddings of the texts in them."""
    used: set[str] = set()
    for split, count in PAIRS.items():
        with gzip.open(data / f"{split}.jsonl.gz", "rb") as file:
            lines = drawn(file.readlines(), count)
        packed(folder / f"{split}.jsonl.gz", lines)
        for record in map(json.loads, lines):
            used |= {*record["nodes"].values(), record["task"]}
    with np.load(data / "embeddings.npz", allow_pickle=False) as stored:
        rows = [place for place, text in enumerate(stored["text"].tolist()) if text in used]
        np.savez_compressed(folder / "embeddings.npz", sha1=stored["sha1"][rows], embedding=stored["embedding"][rows])


def texts(data: Path, folder: Path) -> None:
    """All of ``forget01``, rows of ``retain90`` that have wrong answers, and whole files that the benchmark's measures are taken on."""
    for name in ("forget01_perturbed", "holdout01", "real_authors_perturbed", "world_facts_perturbed", "idontknow"):
        packed(folder / f"{name}.jsonl.gz", lines_of(data, name))
    kept = set(map(_pair, lines_of(data, "retain90")))
    known = [line for line in lines_of(data, "retain_perturbed") if _pair(line) in kept]
    packed(folder / "retain_perturbed.jsonl.gz", drawn(known, KEPT))


def lines_of(data: Path, name: str) -> Lines:
    return [line.rstrip(b"\n") + b"\n" for line in (data / f"{name}.jsonl").read_bytes().split(b"\n") if line.strip()]


def drawn(lines: Lines, count: int) -> Lines:
    rows = np.sort(np.random.default_rng(SEED).choice(len(lines), count, replace=False))
    return [lines[row] for row in rows]


def packed(place: Path, lines: Iterable[bytes]) -> None:
    place.write_bytes(gzip.compress(b"".join(lines), 9, mtime=0))


def _pair(line: bytes) -> tuple[str, str]:
    record = json.loads(line)
    return record["question"], record["answer"]


if __name__ == "__main__":
    main()
