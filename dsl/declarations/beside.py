"""Files that a spec names: beside it, or in a folder below."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field


class MayBeFile:
    """Marks a setting that is a name, or a file or folder. A spec itself may name only what lies beside it and below; the command
    line, through a param and ``--set``, any: a spec from somebody else reads nothing that it was not sent with.
    """


def is_beside(file: str) -> bool:
    """Whether a path stays in the folder that it starts from."""
    depth = 0
    for part in PurePosixPath(file.replace("\\", "/")).parts:
        depth += -1 if part == ".." else part != "."
        if depth < 0:
            return False
    return not (PurePosixPath(file).is_absolute() or PureWindowsPath(file).anchor or file.startswith("~"))


def elsewhere(file: str, way: str) -> str:
    """Why a spec may not name a file."""
    return f"a spec reads files beside it and below, and `{file}` is elsewhere; {way}"


def _inside(file: str) -> str:
    if not is_beside(file):
        raise ValueError(elsewhere(file, "name it with `--data NAME=FILE`"))
    return file


FileBeside: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_inside)]
FileOrName: TypeAlias = Annotated[str, Field(min_length=1), MayBeFile()]
