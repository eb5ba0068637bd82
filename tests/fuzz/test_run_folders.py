"""Run folders with bytes that were changed: every command says what is wrong, or does its work; none is surprised."""

from __future__ import annotations

import os
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pdual.cli.main import perform

#: Changed folders, each a command's work: a tenth of the examples that `PDUAL_EXAMPLES` asks for elsewhere.
EXAMPLES = int(os.environ.get("PDUAL_EXAMPLES", "100")) // 10

#: Seconds that no command may take longer than on a folder of this size.
PATIENCE = 2.0

SPEC = """problem small "A line below others"
data points = csv("points.csv", split = [0.5, 0.25, 0.25]) { x: real, y: real }
model f(x: real) -> real = mlp(hidden = [2])
over p in points {
  let guess = f(p.x)
  minimize (guess - 1)^2
  subject to
    ceiling: guess <= p.y
  dual ceiling = learned(mlp(hidden = [2]), on = features(f), cap = 10)
}
solve { outer = 1, rho = 20.0, descent = adam(lr = 1e-2, batch = 8, steps = 1), ascent = adam(lr = 1e-1, batch = 8, steps = 1) }
"""
SURPRISE = re.compile("PD999|Traceback")
FILES = (
    "run.json",
    "spec.pdual",
    "log.jsonl",
    "metrics.json",
    "points.csv",
    "sensitivity.jsonl",
    "checkpoint/state.json",
    "checkpoint/digests.json",
    "checkpoint/tensors.safetensors",
)
COMMANDS = (
    ["predict", "run", "--data", "points.csv", "-q"],
    ["score", "run", "--data", "points.csv", "-q"],
    ["bounds", "--run", "run"],
    ["run", "small.pdual", "--out", "run", "--resume", "-q"],
    ["run", "small.pdual", "--out", "new", "--init", "run", "-q"],
    ["sweep", "small.pdual", "--over", "nothing=1", "--reference", "run", "-q"],
)
#: Slower ones, one time in twenty.
SLOWER = (
    ["report", "run", "-q"],
    ["sensitivity", "run", "--groups", "2", "--random", "0", "--size", "4", "--seeds", "1", "--outer", "1", "-q"],
    ["verify", "--run", "run", "--examples", "1", "--claims", "multipliers", "-q"],
)
VALUES = (
    b"",
    b"null",
    b"-1",
    b"1e999",
    b"NaN",
    b"99999999999999999999999",
    b'"\\ud800"',
    b"[]",
    b"{}",
    b"true",
    b"\xff\xfe",
    b"\x00",
    b"[" * 3000,
)


def flip(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content) or 1)
    return content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :]


def cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content) or 1)]


def doubled(content: bytes, draw: random.Random) -> bytes:
    place, length = draw.randrange(len(content) or 1), draw.randrange(40)
    return content[:place] + content[place : place + length] * 2 + content[place + length :]


def removed(content: bytes, draw: random.Random) -> bytes:
    place = draw.randrange(len(content) or 1)
    return content[:place] + content[place + draw.randrange(1, 40) :]


def another_value(content: bytes, draw: random.Random) -> bytes:
    """One value of a JSON file by another, most of the time: what stands between two of its separators."""
    breaks = [place for place, byte in enumerate(content[:20000]) if byte in b":,[]{}"]
    if len(breaks) < 2:
        return draw.choice(VALUES)
    at = draw.randrange(len(breaks) - 1)
    return content[: breaks[at] + 1] + draw.choice(VALUES) + content[breaks[at + 1] :]


CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flip,
    cut,
    doubled,
    removed,
    another_value,
    another_value,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzzed")
    (folder / "small.pdual").write_text(SPEC)
    (folder / "points.csv").write_text("x,y\n" + "".join(f"{n / 16},{1 + (n * 7 % 11) / 11}\n" for n in range(16)))
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert perform(["run", "small.pdual", "--out", "run", "-q"]) == 0
        shutil.copy("points.csv", "run")
        assert [perform(command) for command in COMMANDS[:3]] == [0, 0, 0]
    finally:
        os.chdir(before)
    return folder


def test_a_damaged_folder_surprises_no_command(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(whole / "small.pdual", tmp_path)
    shutil.copy(whole / "points.csv", tmp_path)
    saved = {name: (whole / "run" / name).read_bytes() for name in FILES if (whole / "run" / name).exists()}
    saved["sensitivity.jsonl"] = b'\n{"key": "a", "objective": 1.0, "violation": 0.0}\n'
    codes: Counter[int] = Counter()
    for seed in range(EXAMPLES):
        draw = random.Random(seed)
        for name in ("run", "new"):
            shutil.rmtree(name, ignore_errors=True)
        Path("run/checkpoint").mkdir(parents=True)
        for name, content in saved.items():
            Path("run", name).write_bytes(content)
        changed = draw.choice(FILES)
        for _ in range(draw.choice((1, 1, 2, 5))):
            if Path("run", changed).exists():
                Path("run", changed).write_bytes(draw.choice(CHANGES)(Path("run", changed).read_bytes(), draw))
        if changed.startswith("checkpoint") and draw.random() < 0.7:
            Path("run/checkpoint/digests.json").unlink()  # else the digests alone would answer
        if draw.random() < 0.1:
            Path("run", draw.choice(FILES)).unlink(missing_ok=True)
        command = draw.choice(SLOWER) if draw.random() < 0.05 else draw.choice(COMMANDS)
        began = time.process_time()
        code = perform(command)
        spent = time.process_time() - began
        codes[code] += 1
        said = "".join(capsys.readouterr())
        assert not SURPRISE.search(said), (seed, command, changed, said)
        assert spent < PATIENCE * (1 if command in COMMANDS else 5), (seed, command, changed, spent)
    assert len(codes) > 1, codes


def test_damaged_files_are_read_or_refused(whole: Path, tmp_path: Path) -> None:
    """Many more of them, without the work of a command: every file is what it was written as, or a Refusal."""
    from pdual.dsl.diagnostics import Refusal
    from pdual.runtime.storage.folder import RunFolder

    saved = {name: (whole / "run" / name).read_bytes() for name in FILES if (whole / "run" / name).exists()}
    (tmp_path / "checkpoint").mkdir()
    for name, content in saved.items():
        if not name.endswith("digests.json"):
            (tmp_path / name).write_bytes(content)
    reads: dict[str, Callable[[RunFolder], object]] = {
        "run.json": lambda run: (run.record, run.is_own),
        "spec.pdual": lambda run: (run.spec, run.is_own),
        "log.jsonl": lambda run: run.log,
        "metrics.json": lambda run: run.metrics,
        "checkpoint/state.json": lambda run: run.load(),
        "checkpoint/tensors.safetensors": lambda run: run.load(),
    }
    codes: list[str] = []
    for seed in range(10 * EXAMPLES):
        draw = random.Random(seed)
        name = draw.choice(list(reads))
        changed = draw.choice(CHANGES)(saved[name], draw)
        (tmp_path / name).write_bytes(changed)
        try:
            reads[name](RunFolder.open(tmp_path))
        except Refusal as refusal:
            codes.append(refusal.diagnostics[0].code)
        (tmp_path / name).write_bytes(saved[name])
    assert set(codes) <= {"PD620", "PD621"}
    assert 0.2 < len(codes) / (10 * EXAMPLES) < 0.95
