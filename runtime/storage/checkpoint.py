"""A checkpoint: tensors (safetensors), the rest (JSON), and digests of both. Loading one executes nothing."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.runtime.storage.packing import pack, unpack

TENSORS, STATE, DIGESTS = "tensors.safetensors", "state.json", "digests.json"
FILES = (TENSORS, STATE, DIGESTS)

#: Suffixes of one that is being written, and of the one before it until it is there: no names that a user's own copy would have.
FRESH, OLD = ".pdual.new", ".pdual.old"


def save_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Replace the checkpoint at ``path``, a folder: at every moment either the last one or this one can be loaded.

    Raises OSError where it cannot be written; the last one is kept then, and what was written of this one is removed. What else lies
    in the folder stays.
    """
    fresh, old = _beside(path, FRESH), _beside(path, OLD)
    tensors, document = pack(state)
    _remove(fresh)
    try:
        fresh.mkdir()
        save_file(tensors, fresh / TENSORS)
        _flush(fresh / TENSORS)
        _write(fresh / STATE, json.dumps(document))
        digests = {name: _digest(fresh / name) for name in (TENSORS, STATE)}
        _write(fresh / DIGESTS, json.dumps({"sha256": digests}))
        if path.exists():
            _remove(old, path)
            path.rename(old)
        fresh.rename(path)
    except SafetensorError as error:
        _remove(fresh)
        raise OSError(None, str(error)) from None
    except OSError:
        _remove(fresh)
        raise
    _remove(old, path)


def load_checkpoint(path: Path) -> dict[str, Any] | None:
    """The state that was saved last, tensors on the CPU; None where there is none. PD621 when it is damaged."""
    place = _last(path)
    return None if place is None else _load(place)


def checkpoint_digests(path: Path) -> dict[str, str] | None:
    """SHA-256 of the files of what was saved last, by name; None where there is none. Raises OSError where one cannot be read."""
    place = _last(path)
    return None if place is None else {name: _digest(place / name) for name in (TENSORS, STATE)}


def remove_checkpoint(path: Path) -> None:
    """Remove the checkpoint and what an interrupted save left of one, but nothing else that lies there."""
    for place in (path, _beside(path, OLD), _beside(path, FRESH)):
        _remove(place)


@contextmanager
def whole_state() -> Iterator[None]:
    """Where a state is taken apart: one that lacks something, or holds something else, is damaged. Raises PD621."""
    try:
        yield
    except Refusal:
        raise
    except Exception as error:  # any part of a file that anybody may have written may be anything
        text = str(error).strip().splitlines()
        reason = f"it does not hold the state of this run ({type(error).__name__}: {text[0][:200] if text else ''})"
        raise refuse("PD621", file=STATE, reason=reason) from None


def _remove(place: Path, heir: Path | None = None) -> None:
    """Remove a checkpoint's files and its folder, which stays where it holds others that ``heir`` does not take over."""
    with suppress(OSError):
        for name in FILES:
            (place / name).unlink(missing_ok=True)
        if heir is not None:
            for other in list(place.iterdir()):
                if not os.path.lexists(heir / other.name):
                    other.rename(heir / other.name)
        place.rmdir()


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
    except (OSError, ValueError, TypeError, RecursionError) as error:
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
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise refuse("PD621", file=place, reason=f"it holds no digests ({error})") from None
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
