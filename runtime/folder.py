"""The folder of a run: ``spec.pdual``, ``run.json``, ``log.jsonl``, ``metrics.json``, ``checkpoint/``."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.runtime.packing import pack, unpack
from pdual.runtime.records import LogLine, Metrics, Record, RunRecord

SPEC, RUN, LOG, METRICS = "spec.pdual", "run.json", "log.jsonl", "metrics.json"
CHECKPOINT, TENSORS, STATE = "checkpoint", "tensors.safetensors", "state.json"

AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run on disk. Every file is written under a temporary name and renamed, so a reader sees the old one
    or the new one.
    """

    path: Path

    @classmethod
    def create(cls, path: Path, spec: str, record: RunRecord, replace: bool = False) -> RunFolder:
        """Begin a run. PD622 when the folder holds one already and ``replace`` is False; PD624 when it cannot
        be written.
        """
        folder = cls(path)
        if (path / RUN).exists() and not replace:
            raise refuse("PD622", path=path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            for name in (CHECKPOINT, CHECKPOINT + ".old", CHECKPOINT + ".new"):
                shutil.rmtree(path / name, ignore_errors=True)
            for name in (LOG, METRICS):
                (path / name).unlink(missing_ok=True)
            _write(path / SPEC, spec)
        except OSError as error:
            raise refuse("PD624", path=path, reason=error.strerror or error) from None
        folder.write_record(record)
        return folder

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """A run that exists. PD620 when the folder is none."""
        for name in (RUN, SPEC):
            if not (path / name).is_file():
                raise refuse("PD620", path=path, file=name)
        return cls(path)

    @property
    def spec(self) -> str:
        """The text of the spec that was run."""
        return (self.path / SPEC).read_text(encoding="utf-8")

    @property
    def record(self) -> RunRecord:
        """``run.json``; PD621 when it is malformed."""
        return _read(self.path / RUN, RunRecord)

    @property
    def metrics(self) -> Metrics:
        """``metrics.json``; PD620 when the run did not get that far, PD621 when it is malformed."""
        return _read(self.path / METRICS, Metrics)

    @property
    def log(self) -> tuple[LogLine, ...]:
        """``log.jsonl``; PD621 when a line is malformed."""
        path = self.path / LOG
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return tuple(_parse(path, LogLine, line, f"line {number}: ") for number, line in enumerate(lines, 1))

    def write_record(self, record: RunRecord) -> None:
        """Replace ``run.json``."""
        _write(self.path / RUN, record.model_dump_json(by_alias=True, indent=1))

    def write_metrics(self, metrics: Metrics) -> None:
        """Replace ``metrics.json``."""
        _write(self.path / METRICS, metrics.model_dump_json(by_alias=True, indent=1))

    def append_log(self, line: LogLine) -> None:
        """Add a line to ``log.jsonl``."""
        with (self.path / LOG).open("a", encoding="utf-8") as file:
            file.write(line.model_dump_json(by_alias=True) + "\n")

    def rewrite_log(self, lines: tuple[LogLine, ...]) -> None:
        """Replace ``log.jsonl``: a resumed run repeats what came after its checkpoint."""
        _write(self.path / LOG, "".join(line.model_dump_json(by_alias=True) + "\n" for line in lines))

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the checkpoint; the previous one is there until this one is complete."""
        fresh, current, old = (self.path / (CHECKPOINT + suffix) for suffix in (".new", "", ".old"))
        tensors, document = pack(state)
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        save_file(tensors, fresh / TENSORS)
        (fresh / STATE).write_text(json.dumps(document), encoding="utf-8")
        shutil.rmtree(old, ignore_errors=True)
        if current.exists():
            current.rename(old)
        fresh.rename(current)
        shutil.rmtree(old, ignore_errors=True)

    def load(self) -> Any:
        """The state of the last complete checkpoint, tensors on the CPU. PD623 when there is none, PD621 when
        it is damaged.
        """
        for name in (CHECKPOINT, CHECKPOINT + ".old"):
            path = self.path / name
            if path.is_dir():
                return _load(path)
        raise refuse("PD623", path=self.path)


def _load(path: Path) -> Any:
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


def _read(path: Path, kind: type[AnyRecord]) -> AnyRecord:
    if not path.is_file():
        raise refuse("PD620", path=path.parent, file=path.name)
    return _parse(path, kind, path.read_text(encoding="utf-8"), "")


def _parse(path: Path, kind: type[AnyRecord], text: str, where: str) -> AnyRecord:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise _damaged(path, error, where) from None


def _damaged(path: Path, error: ValidationError, where: str) -> Refusal:
    first = error.errors()[0]
    place = ".".join(str(step) for step in first["loc"])
    return refuse("PD621", file=path, reason=f"{where}{place + ': ' if place else ''}{first['msg'].lower()}")


def _write(path: Path, text: str) -> None:
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
