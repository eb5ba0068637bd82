"""The folder of a run: ``spec.pdual``, ``run.json``, ``log.jsonl``, ``metrics.json``, ``checkpoint/``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout
from pydantic import ValidationError

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.runtime.checkpoint import FRESH, OLD, checkpoint_digests, load_checkpoint, remove_checkpoint, save_checkpoint
from pdual.runtime.records import LogLine, Metrics, Record, RunRecord

SPEC, RUN, LOG, METRICS = "spec.pdual", "run.json", "log.jsonl", "metrics.json"
ANSWERS = "sensitivity.jsonl"
CHECKPOINT, LOCK = "checkpoint", "run.lock"

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
        with folder._written(SPEC):
            path.mkdir(parents=True, exist_ok=True)
            remove_checkpoint(path / CHECKPOINT)
            for name in (LOG, METRICS, ANSWERS):
                (path / name).unlink(missing_ok=True)
            _write(path / SPEC, spec)
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
        with self._written(RUN):
            _write(self.path / RUN, record.model_dump_json(by_alias=True, indent=1))

    def write_metrics(self, metrics: Metrics) -> None:
        """Replace ``metrics.json``."""
        with self._written(METRICS):
            _write(self.path / METRICS, metrics.model_dump_json(by_alias=True, indent=1))

    def append_log(self, line: LogLine) -> None:
        """Add a line to ``log.jsonl``."""
        with self._written(LOG), (self.path / LOG).open("a", encoding="utf-8") as file:
            file.write(line.model_dump_json(by_alias=True) + "\n")

    def rewrite_log(self, lines: tuple[LogLine, ...]) -> None:
        """Replace ``log.jsonl``: a resumed run repeats what came after its checkpoint."""
        with self._written(LOG):
            _write(self.path / LOG, "".join(line.model_dump_json(by_alias=True) + "\n" for line in lines))

    @property
    def answers(self) -> tuple[str, ...]:
        """The lines of ``sensitivity.jsonl``, any of which a process that was killed, or a disk, may have damaged."""
        path = self.path / ANSWERS
        return tuple(path.read_text(encoding="utf-8", errors="replace").splitlines()) if path.exists() else ()

    def append_answer(self, line: str) -> None:
        """Add a line to ``sensitivity.jsonl``, which several processes may do at a time."""
        with self._written(ANSWERS), (self.path / ANSWERS).open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n")  # what stands before may be the half of a line

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the checkpoint; the previous one is there until this one is complete. PD624 when it cannot be written."""
        with self._written(CHECKPOINT):
            save_checkpoint(self.path / CHECKPOINT, state)

    def load(self) -> dict[str, Any]:
        """The state of the last complete checkpoint, tensors on the CPU. PD623 when there is none, PD621 when
        it is damaged.
        """
        state = load_checkpoint(self.path / CHECKPOINT)
        if state is None:
            raise refuse("PD623", path=self.path)
        return state

    @property
    def checkpoint_digests(self) -> Mapping[str, str]:
        """SHA-256 of the files of the last complete checkpoint, by name. PD623 when there is none; raises OSError."""
        found = checkpoint_digests(self.path / CHECKPOINT)
        if found is None:
            raise refuse("PD623", path=self.path)
        return found

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is something to go on from."""
        return any((self.path / (CHECKPOINT + suffix)).is_dir() for suffix in ("", OLD))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out of the folder, which is made where it is not there. PD625 when one is at work in it.

        The operating system lets go of the lock when the process ends, however it ends.
        """
        with self._written(LOCK):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / LOCK)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise refuse("PD625", path=self.path) from None
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def _written(self, name: str) -> Iterator[None]:
        """A disk that is full and a folder that may not be written to are told (PD624), with what is kept."""
        try:
            yield
        except OSError as error:
            saved = self.path / CHECKPOINT if self.has_checkpoint else None
            reason = (error.strerror or str(error)).lower()
            raise refuse("PD624", path=self.path / name, reason=reason, saved=saved) from None


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
    fresh = path.with_name(path.name + FRESH)
    try:
        with fresh.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
