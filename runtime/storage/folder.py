"""The folder of a run: ``spec.pdual``, ``run.json``, ``log.jsonl``, ``metrics.json``, ``checkpoint/``.

``run.json`` makes a folder pdual's own. It is written first, and only into a folder that is new or empty; nothing else that lies in the
folder is ever replaced or removed, and no file is read or written through a link.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout
from pydantic import ValidationError

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.identity import spec_hash
from pdual.runtime.storage.checkpoint import (
    FILES,
    FRESH,
    OLD,
    checkpoint_digests,
    load_checkpoint,
    remove_checkpoint,
    save_checkpoint,
)
from pdual.runtime.storage.outputs import is_left_over, write_whole
from pdual.runtime.storage.provenance import is_signed, signature
from pdual.runtime.storage.records import LogLine, Metrics, Record, RunRecord

SPEC, RUN, LOG, METRICS = "spec.pdual", "run.json", "log.jsonl", "metrics.json"
ANSWERS = "sensitivity.jsonl"
CHECKPOINT, LOCK = "checkpoint", "run.lock"
#: Under this key ``run.json`` holds what tells a run that was made here from one that was sent.
SIGNATURE = "signature"

#: What may lie in a folder that counts as empty: what the system puts there, and the lock of a run that had not begun.
_NOTHING = (".DS_Store", "Thumbs.db", LOCK)

AnyRecord = TypeVar("AnyRecord", bound=Record)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run on disk. Every file is written under a temporary name and renamed, so a reader sees the old one
    or the new one.
    """

    path: Path

    @classmethod
    def create(cls, path: Path, spec: str, record: RunRecord, replace: bool = False) -> RunFolder:
        """Begin a run. PD622 when the folder holds one already and ``replace`` is False, PD626 when it holds anything else, PD628 where
        one of its files is a link; PD624 when it cannot be written.
        """
        folder = cls(path)
        folder.check_free(replace)
        with folder._written(RUN):
            path.mkdir(parents=True, exist_ok=True)
        folder.write_record(record)
        with folder._written(SPEC):
            remove_checkpoint(path / CHECKPOINT)
            for name in (LOG, METRICS, ANSWERS):
                (path / name).unlink(missing_ok=True)
            folder.write_spec(spec)
        return folder

    def check_free(self, replace: bool = False) -> None:
        """Whether a run may begin here, or with ``replace`` go on or begin anew. Raises PD621, PD622, PD626, PD628."""
        self.check_links()
        if (self.path / RUN).exists():
            if not replace:
                raise refuse("PD622", path=self.path)
            _ = self.record  # a file of another's is called so, too
            return
        with self._written(RUN):
            inside = sorted(os.listdir(self.path)) if self.path.is_dir() else []
        others = [name for name in inside if name not in _NOTHING and not is_left_over(name)]
        if others:
            raise refuse("PD626", path=self.path, file=others[0])
        lock = self.path / LOCK
        if lock.exists() and lock.stat().st_size:
            raise refuse("PD626", path=self.path, file=LOCK)

    def check_links(self) -> None:
        """Refuse a folder of which a file leads elsewhere: what pdual writes lands in it, and what it reads was sent in it. Raises PD628."""
        states = [CHECKPOINT + suffix for suffix in ("", FRESH, OLD)]
        inside = [f"{state}/{name}" for state in states for name in FILES]
        for name in (SPEC, RUN, LOG, METRICS, ANSWERS, LOCK, "tensorboard", *states, *inside):
            if (self.path / name).is_symlink():
                raise refuse("PD628", file=self.path / name)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """A run that exists. PD620 when the folder is none."""
        folder = cls(path)
        folder.check_links()
        for name in (RUN, SPEC):
            if not (path / name).is_file():
                raise refuse("PD620", path=path, file=name)
        return folder

    @property
    def spec(self) -> str:
        """The text of the spec that was run; PD621 when it is none."""
        return _text(self.path / SPEC)

    def write_spec(self, text: str) -> None:
        """Write ``spec.pdual``."""
        with self._written(SPEC):
            write_whole(self.path / SPEC, text.encode("utf-8", errors="surrogateescape"))

    @property
    def record(self) -> RunRecord:
        """``run.json``; PD621 when it is malformed."""
        return self._signed()[0]

    @property
    def is_own(self) -> bool:
        """Whether this user made the run on this machine, and nobody changed its record or its spec since."""
        record, signed = self._signed()
        return signed and spec_hash(self.spec) == record.spec_hash

    def _signed(self) -> tuple[RunRecord, bool]:
        """``run.json``, and whether it was signed here."""
        path = self.path / RUN
        if not path.is_file():
            raise refuse("PD620", path=path.parent, file=path.name)
        text = _text(path)
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            return _parse(path, RunRecord, text, ""), False
        claimed = document.pop(SIGNATURE, None)
        return _parse(path, RunRecord, json.dumps(document), ""), is_signed(document, claimed)

    @property
    def metrics(self) -> Metrics:
        """``metrics.json``; PD620 when the run did not get that far, PD621 when it is malformed."""
        return _read(self.path / METRICS, Metrics)

    @property
    def log(self) -> tuple[LogLine, ...]:
        """``log.jsonl``; PD621 when a line is malformed."""
        path = self.path / LOG
        lines = _text(path).splitlines() if path.exists() else []
        return tuple(_parse(path, LogLine, line, f"line {number}: ") for number, line in enumerate(lines, 1))

    def write_record(self, record: RunRecord) -> None:
        """Replace ``run.json``."""
        with self._written(RUN):
            document = json.loads(record.model_dump_json(by_alias=True))
            text = json.dumps({**document, SIGNATURE: signature(document)}, indent=1, ensure_ascii=False)
            write_whole(self.path / RUN, text.encode("utf-8", errors="surrogateescape"))

    def write_metrics(self, metrics: Metrics) -> None:
        """Replace ``metrics.json``."""
        with self._written(METRICS):
            write_whole(self.path / METRICS, metrics.model_dump_json(by_alias=True, indent=1).encode())

    def append_log(self, line: LogLine) -> None:
        """Add a line to ``log.jsonl``."""
        with self._written(LOG):
            _append(self.path / LOG, line.model_dump_json(by_alias=True) + "\n")

    def rewrite_log(self, lines: tuple[LogLine, ...]) -> None:
        """Replace ``log.jsonl``: a resumed run repeats what came after its checkpoint."""
        with self._written(LOG):
            text = "".join(line.model_dump_json(by_alias=True) + "\n" for line in lines)
            write_whole(self.path / LOG, text.encode())

    @property
    def answers(self) -> tuple[str, ...]:
        """The lines of ``sensitivity.jsonl``, any of which a process that was killed, or a disk, may have damaged."""
        path = self.path / ANSWERS
        return tuple(path.read_text(encoding="utf-8", errors="replace").splitlines()) if path.exists() else ()

    def append_answer(self, line: str) -> None:
        """Add a line to ``sensitivity.jsonl``, which several processes may do at a time."""
        with self._written(ANSWERS):
            _append(self.path / ANSWERS, f"\n{line}\n")  # what stands before may be the half of a line

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
    return _parse(path, kind, _text(path), "")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise refuse("PD621", file=path, reason="it is not text in UTF-8") from None
    except OSError as error:
        raise refuse("PD703", file=path, reason=(error.strerror or str(error)).lower()) from None


def _parse(path: Path, kind: type[AnyRecord], text: str, where: str) -> AnyRecord:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise _damaged(path, error, where) from None


def _damaged(path: Path, error: ValidationError, where: str) -> Refusal:
    first = error.errors()[0]
    place = ".".join(str(step) for step in first["loc"])
    return refuse("PD621", file=path, reason=f"{where}{place + ': ' if place else ''}{first['msg'].lower()}")


def _append(path: Path, text: str) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, 0o666), "ab") as file:
        file.write(text.encode())
