"""Images of handwritten digits: ``digits`` (8 x 8, shipped with scikit-learn) and ``mnist`` (28 x 28)."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.sample import Sample
from pdual.dsl.declarations.source import ANY, Offer, SourceDeclaration, SourceRole
from pdual.dsl.declarations.splits import Shares, split_sizes
from pdual.dsl.types import ArrayType, FixedAxis, Kind, MemberOf

DIGITS_ROWS = 1797
MNIST_ROWS: Mapping[str, int] = {"train": 60_000, "test": 10_000}


class DigitsSettings(Settings):
    """``digits(split = [0.8, 0, 0.2], seed = 0)``: shares of train, val and test; ``limit`` bounds the rows of each."""

    split: Shares = (0.8, 0.0, 0.2)
    seed: int = Field(0, ge=0)
    limit: int | None = Field(None, ge=1)


class MnistSettings(Settings):
    """``mnist()``: the published train and test images, pixels in [0, 1]; ``limit`` bounds the rows of each.

    ``standardised``: pixels less their mean over all train images, over their standard deviation: in [-0.4242, 2.8215].
    """

    standardised: bool = False
    limit: int | None = Field(None, ge=1)


def _offer(side: int) -> Offer:
    """An image with one channel and values in [0, 1], and which of the spec's classes it is."""
    image = ArrayType(Kind.REAL, (FixedAxis(1), FixedAxis(side), FixedAxis(side)))
    return Offer(fields=(("image", image), ("label", ArrayType(MemberOf(ANY)))))


def _limited(rows: Mapping[str, int], limit: int | None) -> Mapping[str, int]:
    return {name: count if limit is None else min(count, limit) for name, count in rows.items()}


def _digits_offer(settings: Settings) -> Offer:
    return _offer(8)


def _digits_rows(settings: Settings) -> Mapping[str, int]:
    assert isinstance(settings, DigitsSettings)
    return _limited(split_sizes(DIGITS_ROWS, settings.split), settings.limit)


def _mnist_offer(settings: Settings) -> Offer:
    return _offer(28)


def _mnist_rows(settings: Settings) -> Mapping[str, int]:
    assert isinstance(settings, MnistSettings)
    return _limited(MNIST_ROWS, settings.limit)


def _mnist_whole(settings: Settings) -> str:
    return (
        "run it without `--quick` where a network is, once; or put `mnist.npz` or the four IDX files into `$PDUAL_DATA/mnist`, "
        "where `PDUAL_DATA` names a folder of yours"
    )


def _mnist_covers(settings: Settings) -> bool:
    return True


DIGITS = SourceDeclaration(
    name="digits",
    role=SourceRole.DATA,
    summary="1,797 handwritten digits of 8 x 8 pixels, shipped with scikit-learn",
    settings=DigitsSettings,
    positional=(),
    offer=_digits_offer,
    rows=_digits_rows,
    builder="pdual.packs.images.digits:build",
    drawing="pdual.packs.images.drawing:draw",
)

MNIST = SourceDeclaration(
    name="mnist",
    role=SourceRole.DATA,
    summary="70,000 handwritten digits of 28 x 28 pixels",
    settings=MnistSettings,
    positional=(),
    offer=_mnist_offer,
    rows=_mnist_rows,
    builder="pdual.packs.images.mnist:build",
    drawing="pdual.packs.images.drawing:draw",
    sample=Sample(
        words="1,000 of the 60,000 train images and 500 of the 10,000 test images of MNIST",
        whole=_mnist_whole,
        covers=_mnist_covers,
        present="pdual.packs.images.mnist_files:present",
        builder="pdual.packs.images.mnist:build_sample",
    ),
)
