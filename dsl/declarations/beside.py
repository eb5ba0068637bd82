"""Files that a spec names: beside it, or in a folder below."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated, TypeAlias

from pydantic import Field

from pdual.dsl.record import record


class Start(StrEnum):
    """The folder that a name is looked for in. What links in the user's own folders lead to is theirs to say."""

    SPEC = "the folder of the spec"
    CURRENT = "the current folder, for folders alone"
    OWN = "folders of the user's own"


@record(frozen=True, slots=True)
class MayBeFile:
    """Marks a setting that is a name, or a file or folder. A spec itself may name only what lies beside it and below; the command
    line, through a param and ``--set``, any: a spec from somebody else reads nothing that it was not sent with.

    A file is looked for with each of ``endings``. ``replaced``: ``--data`` names another one in its place.
    """

    start: Start = Start.SPEC
    endings: tuple[str, ...] = ("",)
    replaced: bool = False

    @property
    def way(self) -> str:
        """How the command line names a file that a spec may not."""
        return "name it with `--data NAME=FILE`" if self.replaced else "make it a `param` and hand it in with `--set`"


def is_beside(file: str) -> bool:
    """Whether a path stays in the folder that it starts from."""
    depth = 0
    for part in PurePosixPath(file.replace("\\", "/")).parts:
        depth += -1 if part == ".." else part != "."
        if depth < 0:
            return False
    return not (PurePosixPath(file).is_absolute() or PureWindowsPath(file).anchor or file.startswith("~"))


def elsewhere(file: str, way: str, target: object = None) -> str:
    """Why a spec may not name a file: it, or what it links to (``target``), lies elsewhere."""
    where = "is elsewhere" if target is None else f"is `{target}`"
    return f"a spec reads files beside it and below, and `{file}` {where}; {way}"


FileOrName: TypeAlias = Annotated[str, Field(min_length=1), MayBeFile()]
FileBeside: TypeAlias = Annotated[str, Field(min_length=1), MayBeFile(replaced=True)]
CaseName: TypeAlias = Annotated[str, Field(min_length=1), MayBeFile(endings=("", ".m"))]
ModelName: TypeAlias = Annotated[str, MayBeFile(Start.CURRENT)]
OwnName: TypeAlias = Annotated[str, MayBeFile(Start.OWN)]
