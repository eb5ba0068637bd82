"""A checkpoint: tensors (safetensors), the rest (JSON), and digests of both. Loading one executes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from pdual.dsl.diagnostics import refuse
from pdual.runtime.packing import pack, unpack

TENSORS, STATE, DIGESTS = "tensors.safetensors", "state.json", "digests.json"

#: Suffixes of one that is being written, and of the one before it until it is there.
FRESH, OLD = ".new", ".old"


def save_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Replace the checkpoint at ``path``, a folder: at every moment either the last one or this one can be loaded.

    Raises OSError where it cannot be written; the last one is kept then, and what was written of this one is removed.
    """
    fresh, old = _beside(path, FRESH), _beside(path, OLD)
    tensors, document = pack(state)
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        fresh.mkdir()
        save_file(tensors, fresh / TENSORS)
        _flush(fresh / TENSORS)
        _write(fresh / STATE, json.dumps(document))
        digests = {name: _digest(fresh / name) for name in (TENSORS, STATE)}
        _write(fresh / DIGESTS, json.dumps({"sha256": digests}))
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
            path.rename(old)
        fresh.rename(path)
    except SafetensorError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise OSError(None, str(error)) from None
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def load_checkpoint(path: Path) -> dict[str, Any] | None:
    """The state that was saved last, tensors on the CPU; None where there is none. PD621 when it is damaged."""
    place = _last(path)
    return None if place is None else _load(place)


def checkpoint_digests(path: Path) -> dict[str, str] | None:
    """SHA-256 of the files of what was saved last, by name; None where there is none. Raises OSError where one cannot be read."""
    place = _last(path)
    return None if place is None else {name: _digest(place / name) for name in (TENSORS, STATE)}


def remove_checkpoint(path: Path) -> None:
    """Remove the checkpoint and what an interrupted save left of one."""
    for place in (path, _beside(path, OLD), _beside(path, FRESH)):
        shutil.rmtree(place, ignore_errors=True)


def _load(path: Path) -> dict[str, Any]:
    _check(path)
    try:
        tensors = load_file(path / TENSORS)
    except (OSError, SafetensorError) as error:
        raise refuse("PD621", file=path / TENSORS, reason=error) from None
    try:
        state = unpack(tensors, json.loads((path / STATE).read_text(encoding="utf-8")))
    except KeyError as error:
        raise refuse("PD621", file=path / STATE, reason=f"the tensor {error} is missing") from None
    except (OSError, ValueError, TypeError) as error:
        raise refuse("PD621", file=path / STATE, reason=error) from None
    if not isinstance(state, dict) or not {"identity", "models", "lanes"} <= state.keys():
        raise refuse("PD621", file=path / STATE, reason="it does not hold the state of a run")
    return state


def _check(path: Path) -> None:
    """PD621 where a file is not what was written. Checkpoints of earlier versions have no digests."""
    place = path / DIGESTS
    if not place.is_file():
        return
    try:
        digests = json.loads(place.read_text(encoding="utf-8"))["sha256"]
        expected = {name: str(digests[name]) for name in (TENSORS, STATE)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise refuse("PD621", file=place, reason=error) from None
    for name, digest in expected.items():
        try:
            found = _digest(path / name)
        except OSError as error:
            raise refuse("PD621", file=path / name, reason=error.strerror or error) from None
        if found != digest:
            raise refuse("PD621", file=path / name, reason="its content is not what was written")


def _last(path: Path) -> Path | None:
    """The folder of what was saved last."""
    return next((item for item in (path, _beside(path, OLD)) if item.is_dir()), None)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    _flush(path)


def _flush(path: Path) -> None:
    """Bring a file to the disk, so that a rename is never there before its content."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
