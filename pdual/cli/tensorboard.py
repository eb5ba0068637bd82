"""Outer iterations as TensorBoard reads them: events in the run's folder, beside ``log.jsonl``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pdual.cli import failure
from pdual.dsl.diagnostics import refuse

if TYPE_CHECKING:
    from pdual.runtime.storage.records import LogLine


class TensorBoardLog:
    """Writes a scalar for every number of a line, by its name in ``log.jsonl``. PD737 where TensorBoard is not installed."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise refuse("PD737", package="tensorboard") from None
        self._make = SummaryWriter
        self._folder = folder / "tensorboard"
        self._writer: SummaryWriter | None = None

    def log(self, line: LogLine) -> None:
        """One outer iteration; with the first, the files are made. Raises PD713."""
        numbers = {
            name: getattr(line, name)
            for name in (
                "loss",
                "violation_mean",
                "violation_max",
                "feasible_rows",
                "rows_at_cap",
                "rho",
                "multiplier",
                "moved",
            )
        }
        numbers |= {f"objective/{name}": value for name, value in line.objective.items()}
        for name, family in line.families.items():
            numbers |= {f"violated/{name}": family.violated, f"violation/{name}": family.mean}
            if family.multiplier is not None:
                numbers[f"multiplier/{name}"] = family.multiplier
        for name, average in line.averages.items():
            numbers[f"average/{name}"] = average.residual
        with failure.writing(self._folder):
            if self._writer is None:  # not before the run has made its folder its own
                self._writer = self._make(str(self._folder))
            for name, value in numbers.items():
                self._writer.add_scalar(name, value, line.outer)

    def close(self) -> None:
        """Bring everything to the disk."""
        if self._writer is not None:
            self._writer.close()
