"""``cnn``: convolutions and pooling on one image, then a small perceptron."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from pydantic import Field

from pdual.dsl.declarations.architecture import Architecture, Complaint
from pdual.dsl.declarations.architecture_plain import Width
from pdual.dsl.declarations.architecture_vectors import affine, output_complaints, output_width, vector
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Signature, Sizes, shape
from pdual.dsl.types import ArrayType, FixedAxis, Kind


class CnnSettings(Settings):
    """``cnn(channels = [64, 64], kernel = 3, hidden = [32])``.

    Every convolution keeps height and width, and is followed by a ReLU and a maximum over squares of side
    ``pool`` (what is left over at the edge is dropped); ``hidden`` are the layers from there to the output.
    """

    channels: tuple[Width, ...] = Field(min_length=1)
    kernel: int = Field(default=3, ge=1)
    hidden: tuple[Width, ...] = ()
    output_bias: float = 0.0
    pool: int = Field(default=2, ge=1)


def flat_size(image: tuple[int, int, int], settings: CnnSettings) -> int:
    """How many numbers the last pooling gives for a [channels, height, width] image; 0: it is too small."""
    _, height, width = image
    for _ in settings.channels:
        height, width = height // settings.pool, width // settings.pool
    return settings.channels[-1] * height * width


def image_size(signature: Signature, sizes: Sizes) -> tuple[int, int, int] | None:
    """Channels, height and width of the only input; None while one is not known."""
    ((_, array),) = signature.inputs
    assert isinstance(array, ArrayType)
    channels, height, width = shape(array, sizes)
    return None if channels is None or height is None or width is None else (channels, height, width)


def _complaints(signature: Signature, settings: Settings) -> Iterable[Complaint]:
    assert isinstance(settings, CnnSettings)
    if settings.kernel % 2 == 0:
        yield Complaint("kernel", "an odd number", str(settings.kernel))
    if len(signature.inputs) != 1:
        yield Complaint("inputs", "exactly one input", str(len(signature.inputs)))
    else:
        name, array = signature.inputs[0]
        if not isinstance(array, ArrayType) or array.element is not Kind.REAL or len(array.axes) != 3:
            yield Complaint(name, "an image `real[channels, height, width]`", str(array))
        elif all(isinstance(axis, FixedAxis) for axis in array.axes):
            image = image_size(signature, {})
            if image is not None and flat_size(image, settings) == 0:
                side = settings.pool ** len(settings.channels)
                yield Complaint(name, f"an image of at least {side} x {side} pixels", str(array))
    for output in signature.outputs:
        yield from output_complaints(output)


def _features(signature: Signature, settings: Settings, sizes: Sizes) -> ArrayType | None:
    assert isinstance(settings, CnnSettings)
    if settings.hidden:
        return vector(settings.hidden[-1])
    image = image_size(signature, sizes)
    return None if image is None else vector(flat_size(image, settings))


def _parameters(signature: Signature, settings: Settings, sizes: Sizes) -> int | None:
    assert isinstance(settings, CnnSettings)
    image, outputs = image_size(signature, sizes), output_width(signature, sizes)
    if image is None or outputs is None:
        return None
    area = settings.kernel**2
    convolutions = sum(affine(a * area, b) for a, b in pairwise((image[0], *settings.channels)))
    layers = pairwise((flat_size(image, settings), *settings.hidden, outputs))
    return convolutions + sum(affine(a, b) for a, b in layers)


CNN = Architecture(
    name="cnn",
    summary="convolutions with ReLU and max pooling on one image, then a perceptron",
    settings=CnnSettings,
    positional=("channels",),
    complaints=_complaints,
    features=_features,
    parameters=_parameters,
    builder="pdual.runtime.models.cnn:build",
)
