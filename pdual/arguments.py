"""What ``load`` and ``solve`` are given, before anything is done with it. Imports no torch."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.runtime.problem.options import MOST_SEED, MOST_THREADS, check_whole
from pdual.understanding import ALL

_LOADED = ("params", "data", "models", "dual", "minimize", "overrides")


def checked_load(
    spec: object, params: object, data: object, models: object, dual: object, minimize: object
) -> tuple[dict[str, str], dict[str, str]]:
    """The kinds of multipliers by family, and the values of parameters as ``--set`` would have them. Raises PD752."""
    if not isinstance(spec, str | os.PathLike) or "\0" in os.fspath(spec):
        raise _unlike("spec", "a path, or the name of a shipped spec", spec)
    for name, value in (("params", params), ("data", data), ("models", models)):
        if value is not None and not _is_named(value):
            raise _unlike(name, "a mapping by name", value)
    if not (
        dual is None
        or isinstance(dual, str)
        or (isinstance(dual, Mapping) and _is_named(dual) and all(isinstance(kind, str) for kind in dual.values()))
    ):
        raise _unlike("dual", "a kind of multipliers, or kinds by constraint", dual)
    if not isinstance(minimize, bool):
        raise _unlike("minimize", "True or False", minimize)
    _check_modules(models or {})  # type: ignore[arg-type]
    duals = {ALL: dual} if isinstance(dual, str) else dict(dual or {})
    return duals, {name: _written(name, value) for name, value in (params or {}).items()}  # type: ignore[attr-defined]


def _is_named(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def _check_modules(models: Mapping[str, Any]) -> None:
    if not models:
        return
    from torch import nn

    for name, module in models.items():
        if not isinstance(module, nn.Module):
            raise _unlike(f"models[{name!r}]", "an `nn.Module`", module)


def _written(name: str, value: Any) -> str:
    """A value as ``--set`` would have it."""
    plain = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
    if isinstance(plain, bool):
        return str(plain).lower()
    if isinstance(plain, str):
        return plain
    if isinstance(plain, Integral):
        return str(int(plain))
    if isinstance(plain, Real):
        return repr(float(plain))
    raise _unlike(f"params[{name!r}]", "a number or a text", value)


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of ``solve``, as ``RunOptions`` has them. Raises PD704, PD750."""
    for name in options:
        if name not in _OPTIONS:
            raise refuse(
                "PD750", call="solve", name=name, names=", ".join(f"`{item}`" for item in _OPTIONS),
                of_load="1" if name in _LOADED else None, near=nearest(name, _OPTIONS),
            )  # fmt: skip
    return {name: _OPTIONS[name](name, value) for name, value in options.items()}


def _folder(name: str, value: Any) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike) or not os.fspath(value) or "\0" in os.fspath(value):
        raise refuse("PD704", option=name, expected="a folder", found=value)
    return Path(os.fspath(value))


def _flag(name: str, value: Any) -> bool:
    plain = value.item() if type(value).__name__ in ("bool_", "bool") and hasattr(value, "item") else value
    if not isinstance(plain, bool):
        raise refuse("PD704", option=name, expected="True or False", found=value)
    return plain


def _whole(least: int, most: int | None = None, optional: bool = False) -> Callable[[str, Any], int | None]:
    def checked(name: str, value: Any) -> int | None:
        if optional and value is None:
            return None
        check_whole(name, value, least, most)
        return int(value)

    return checked


def _seconds(name: str, value: Any) -> float | None:
    if value is None:
        return None
    try:
        seconds = -1.0 if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    except OverflowError:
        seconds = inf
    if not 0 < seconds < inf:
        raise refuse("PD704", option=name, expected="seconds, a number above 0", found=value)
    return seconds


def _device(name: str, value: Any) -> str:
    if not re.fullmatch(r"auto|cpu|cuda(:\d{1,3})?", str(value)):
        raise refuse("PD704", option=name, expected="`auto`, `cpu` or `cuda`", found=value)
    return str(value)


def _precision(name: str, value: Any) -> str:
    kinds = ("float32", "float64", "bfloat16")
    plain = str(value).removeprefix("torch.")
    if plain not in kinds:
        raise refuse("PD704", option=name, expected=", ".join(f"`{kind}`" for kind in kinds), found=value)
    return plain


_OPTIONS: Mapping[str, Callable[[str, Any], Any]] = {
    "out": _folder,
    "device": _device,
    "precision": _precision,
    "compile": _flag,
    "seed": _whole(0, MOST_SEED),
    "threads": _whole(1, MOST_THREADS),
    "resume": _flag,
    "quick": _flag,
    "budget": _seconds,
    "limit": _whole(1, optional=True),
    "initial": _folder,
}


def _unlike(name: str, expected: str, found: object) -> Refusal:
    shown = (
        found.__name__
        if isinstance(found, type)
        else repr(found)
        if isinstance(found, str | int | float)
        else type(found).__name__
    )
    return refuse("PD752", name=name, expected=expected, found=shown)
