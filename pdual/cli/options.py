"""Options that several commands share, and the small languages that their values are written in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

#: Of what is done again and again: seeds, groups, re-solves, passes. More would not end.
MOST = 100_000
#: Processes side by side.
MOST_JOBS = 1024

SpecArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="SPEC", help="A .pdual file, or the name of a shipped spec.", show_default=False)
]
SetOption: TypeAlias = Annotated[
    list[str],
    typer.Option("--set", metavar="NAME=VALUE", help="Give a parameter another value. Repeatable.", show_default=False),
]
DualOption: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--dual",
        metavar="[FAMILY=]KIND",
        help="Hold multipliers in another way: pointwise, shared, hybrid, learned, penalty or none. Repeatable.",
        show_default=False,
    ),
]
MinimizeOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--minimize", metavar="none", help="Drop the objective: what is feasible?", show_default=False),
]
DataOption: TypeAlias = Annotated[
    list[str],
    typer.Option("--data", metavar="NAME=FILE", help="The file of a data set. Repeatable.", show_default=False),
]
TrainedOnOption: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--trained-on",
        metavar="NAME=FILE",
        help="A file that a run from elsewhere was trained on, by data set or parameter. Repeatable.",
        show_default=False,
    ),
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout, nothing else.")]


class DeviceChoice(StrEnum):
    """Where to compute; ``auto`` takes an accelerator where there is one."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class PrecisionChoice(StrEnum):
    """Of models and rows."""

    FLOAT32 = "float32"
    FLOAT64 = "float64"


def assignments(written: Sequence[str], option: str, expected: str = "NAME=VALUE") -> Mapping[str, str]:
    """``NAME=VALUE``s as a mapping, the last one of a name counting. Raises PD704."""
    from pdual.dsl.diagnostics import refuse

    found: dict[str, str] = {}
    for item in written:
        name, separator, value = item.partition("=")
        if not (name.strip() and separator and value.strip()):
            raise refuse("PD704", option=option, expected=f"`{expected}`", found=item)
        found[name.strip()] = value.strip()
    return found


def names(written: str, option: str) -> list[str]:
    """``A,B``: at least one name. Raises PD704."""
    from pdual.dsl.diagnostics import refuse

    found = [name.strip() for name in written.split(",") if name.strip()]
    if not found:
        raise refuse("PD704", option=option, expected="names, separated by commas", found=written)
    return found


def duals(written: Sequence[str]) -> Mapping[str, str]:
    """``KIND`` (for all families, key ``*``) and ``FAMILY=KIND`` as a mapping. Raises PD704."""
    from pdual.understanding import ALL

    return assignments([item if "=" in item else f"{ALL}={item}" for item in written], "--dual", "[FAMILY=]KIND")


def keeps_objective(written: str | None) -> bool:
    """Whether the objective stays. Raises PD704 for anything but ``none``."""
    from pdual.dsl.diagnostics import refuse

    if written not in (None, "none"):
        raise refuse("PD704", option="--minimize", expected="`none`", found=written)
    return written is None


_SECONDS = {"s": 1, "m": 60, "h": 3600}


def seconds(written: str | None) -> float | None:
    """``90s``, ``5m``, ``1.5h`` or a bare number of seconds. Raises PD704."""
    from pdual.dsl.diagnostics import refuse

    if written is None:
        return None
    unit = written[-1:] if written[-1:] in _SECONDS else ""
    try:
        found = float(written.removesuffix(unit)) * _SECONDS.get(unit, 1)
    except ValueError:
        found = -1.0
    if not 0 < found < float("inf"):
        raise refuse("PD704", option="--budget", expected="a time such as `90s`, `5m` or `2h`", found=written)
    return found


def data_files(written: Sequence[str], option: str = "--data") -> Mapping[str, Path]:
    """``NAME=FILE``s; whether the files are there is asked when the spec is known. Raises PD704."""
    return {name: Path(file).expanduser() for name, file in assignments(written, option, "NAME=FILE").items()}


def trained_on(written: Sequence[str]) -> Mapping[str, Path]:
    """``--trained-on``'s files. Raises PD704."""
    return data_files(written, "--trained-on")
