"""Files that a spec names: beside it, or in a folder below."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field


def _inside(file: str) -> str:
    """A spec from somebody else reads nothing that it was not sent with."""
    depth = 0
    for part in PurePosixPath(file.replace("\\", "/")).parts:
        depth += -1 if part == ".." else part != "."
        if depth < 0:
            break
    if depth < 0 or PurePosixPath(file).is_absolute() or PureWindowsPath(file).anchor or file.startswith("~"):
        raise ValueError(
            f"a spec reads files beside it and below, and `{file}` is elsewhere; name it with `--data NAME=FILE`"
        )
    return file


FileBeside: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_inside)]
