"""Where a power case is looked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from pdual.dsl.diagnostics import refuse
from pdual.runtime.data.context import SourceContext

#: The cases that pdual carries, and the file of each among its data.
SHIPPED_CASES = {
    "pglib_opf_case30_ieee": "case30_ieee.json",
    "pglib_opf_case30_ieee__api": "case30_ieee__api.json",
}
_PUBLISHER = "https://github.com/power-grid-lib/pglib-opf"
_FOLDERS = ("pglib", "pglib/api", "pglib/sad", "matpower")


def find_case(name: str, context: SourceContext) -> Path | None:
    """The file of a case; None where it is a shipped one.

    A path is taken relative to the folder of the spec; one from the command line is looked for in the current
    folder before. A name is looked for among the shipped cases, in those folders and in those of
    ``$PDUAL_DATA/power``. Raises PD501 with the places searched and the nearest name.
    """
    if name in SHIPPED_CASES:
        return None
    file = Path(name).expanduser()
    file = file if file.suffix == ".m" else file.with_name(f"{file.name}.m")
    folders = [folder for folder in (context.current, context.folder) if folder is not None]
    places = [folder / file for folder in dict.fromkeys(folders)]
    if len(file.parts) == 1:
        places += [place / file for place in _data_folders()]
    for place in places:
        if place.is_file():
            return place
    searched = ["the shipped cases", *(f"`{place}`" for place in places)]
    if not os.environ.get("PDUAL_DATA"):
        searched.append("no other folder, since `PDUAL_DATA` is not set")
    near = _near(name, folders, file)
    raise refuse("PD501", context.span, case=name, searched=", ".join(searched), near=near, publisher=_PUBLISHER)


def _data_folders() -> list[Path]:
    root = os.environ.get("PDUAL_DATA")
    return [Path(root).expanduser() / "power" / name for name in _FOLDERS] if root else []


def _near(name: str, folders: Sequence[Path], file: Path) -> str | None:
    beside = [str(file.with_name(other.name)) for folder in folders for other in (folder / file).parent.glob("*.m")]
    published = [other.stem for place in _data_folders() for other in place.glob("*.m")]
    matches = get_close_matches(name, sorted({*SHIPPED_CASES, *beside, *published}), n=1, cutoff=0.7)
    return matches[0] if matches else None
