"""``pdual predict`` and ``pdual score``: a run applied to rows of the user's own file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from pdual.cli.options import JsonOption, TrainedOnOption, trained_on
from pdual.cli.say import say

if TYPE_CHECKING:
    from torch import Tensor

    from pdual.restoring import Restored
    from pdual.runtime.data.tables import Ragged

RunArgument: TypeAlias = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.", show_default=False)]
RowsOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--data", metavar="[NAME=]FILE", help="Rows: csv, jsonl, npz, parquet or safetensors.", show_default=False
    ),
]
OutOption: TypeAlias = Annotated[
    Path | None, typer.Option(help="A file: csv, jsonl or npz. [default: csv on stdout]", show_default=False)
]
ReplaceOption: TypeAlias = Annotated[bool, typer.Option("--replace", help="Replace the file of --out.")]
QuietOption: TypeAlias = Annotated[bool, typer.Option("-q", "--quiet", help="No progress.")]


def predict(
    run: RunArgument,
    data: RowsOption,
    out: OutOption = None,
    replace: ReplaceOption = False,
    trained: TrainedOnOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Apply the trained models to new rows."""
    from pdual.scoring import predict as predicted

    name, file = _named(data)
    _check_out(out, replace)
    found = _restored(run, quiet, trained_on(trained))
    rows, outputs = predicted(found, file, name)
    columns: dict[str, Any] = {"row": rows}
    for output, values in outputs.items():
        columns |= _columns(output, values)
    return _write("predict", columns, out, json, arrays=_arrays(outputs))


def score(
    run: RunArgument,
    data: RowsOption,
    out: OutOption = None,
    replace: ReplaceOption = False,
    trained: TrainedOnOption = [],  # noqa: B006 - typer reads it, nothing writes to it
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> int:
    """Rank new rows by their multipliers: what their constraints would cost."""
    from dataclasses import asdict, fields

    from pdual.scoring import Scored
    from pdual.scoring import score as scored

    name, file = _named(data)
    _check_out(out, replace)
    lines = [asdict(item) for item in scored(_restored(run, quiet, trained_on(trained)), file, name)]
    columns = {field.name: [line[field.name] for line in lines] for field in fields(Scored)}
    if all(value is None for value in columns["violation"]):
        del columns["violation"]
    return _write("score", columns, out, json, arrays={})


def _restored(run: Path, quiet: bool, named: Mapping[str, Path]) -> Restored:
    from pdual.cli.progress import progress
    from pdual.restoring import restored

    shown = progress(quiet, False)
    try:
        return restored(run, shown, named=named)
    finally:
        shown.close()


def _named(written: str) -> tuple[str | None, Path]:
    """``NAME=FILE`` or ``FILE``; a file whose name has a ``=`` is one where it is there."""
    if "=" not in written or Path(written).is_file():
        return None, Path(written).expanduser()
    name, _, file = written.partition("=")
    return name, Path(file).expanduser()


def _columns(name: str, values: Tensor | Ragged) -> dict[str, list[Any]]:
    """An array as columns: ``f`` of one number, else ``f.0``, ``f.1``, ... as files of rows are read; a list where rows differ in length."""
    from torch import Tensor

    if not isinstance(values, Tensor):
        return {name: [row.tolist() for row in values.rows()]}
    if values.ndim == 1:
        return {name: values.tolist()}
    flat = values.flatten(1)
    return {f"{name}.{place}": flat[:, place].tolist() for place in range(flat.shape[1])}


def _arrays(outputs: Mapping[str, Tensor | Ragged]) -> dict[str, Tensor]:
    """By name; what is ragged as all its numbers one after another, and under ``name.offsets`` where each row begins and ends."""
    from torch import Tensor

    found: dict[str, Tensor] = {}
    for name, values in outputs.items():
        found |= (
            {name: values} if isinstance(values, Tensor) else {name: values.values, f"{name}.offsets": values.offsets}
        )
    return found


def _write(
    command: str, columns: Mapping[str, Sequence[Any]], out: Path | None, json: bool, arrays: Mapping[str, Tensor]
) -> int:
    from pdual.cli import failure, output
    from pdual.runtime.storage.outputs import write_whole

    lines = [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]
    if out is not None:
        with failure.writing(out):
            write_whole(out, _content(out.suffix.lower(), columns, lines, arrays))
    if json:
        output.document(command, output.FINE, (), None, file=None if out is None else str(out), rows=lines)
    elif out is None:
        _csv(columns, lines, sys.stdout)
    else:
        say(out)
    return output.FINE


def _check_out(out: Path | None, replace: bool) -> None:
    """Before anything is computed. Raises PD627 where a file is there already, PD704 for one of another kind."""
    from pdual.dsl.diagnostics import refuse
    from pdual.runtime.storage.outputs import check_new

    if out is None:
        return
    if out.suffix.lower() not in (".csv", ".jsonl", ".npz"):
        raise refuse("PD704", option="--out", expected="a file that ends in `.csv`, `.jsonl` or `.npz`", found=out)
    check_new(out, replace)


def _content(
    kind: str, columns: Mapping[str, Sequence[Any]], lines: Sequence[Any], arrays: Mapping[str, Tensor]
) -> bytes:
    import io
    import json

    if kind == ".csv":
        text = io.StringIO()
        _csv(columns, lines, text)
        return text.getvalue().encode("utf-8", errors="surrogateescape")
    if kind == ".jsonl":
        return "".join(json.dumps(line) + "\n" for line in lines).encode()
    import numpy as np

    whole = {name: values.numpy() for name, values in arrays.items()}
    rest = {name: np.asarray(values) for name, values in columns.items() if not whole or name == "row"}
    content = io.BytesIO()
    np.savez(content, **(whole | rest))  # type: ignore[arg-type]
    return content.getvalue()


def _csv(columns: Mapping[str, Sequence[Any]], lines: Sequence[Mapping[str, Any]], stream: Any) -> None:
    import csv

    writer = csv.DictWriter(stream, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
