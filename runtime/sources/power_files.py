"""Where a power case is looked for."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from pdual.dsl.diagnostics import refuse
from pdual.dsl.spans import Span

#: The cases that pdual carries, and the file of each among its data.
SHIPPED_CASES = {
    "pglib_opf_case30_ieee": "case30_ieee.json",
    "pglib_opf_case30_ieee__api": "case30_ieee__api.json",
}
_PUBLISHER = "https://github.com/power-grid-lib/pglib-opf"
_FOLDERS = ("pglib", "pglib/api", "pglib/sad", "matpower")


def find_case(name: str, folder: Path, span: Span) -> Path | None:
    """The file of a case; None where it is a shipped one.

    A path is taken relative to ``folder``; a name is looked for among the shipped cases, in ``folder`` and in
    the folders of ``$PDUAL_DATA/power``. Raises PD501 with the places searched and the nearest name.
    """
    if name in SHIPPED_CASES:
        return None
    file = Path(name).expanduser()
    file = file if file.suffix == ".m" else file.with_name(f"{file.name}.m")
    places = [folder / file]
    if len(file.parts) == 1:
        places += [place / file for place in _data_folders()]
    for place in places:
        if place.is_file():
            return place
    searched = ["the shipped cases", *(f"`{place}`" for place in places)]
    if not os.environ.get("PDUAL_DATA"):
        searched.append("no other folder, since `PDUAL_DATA` is not set")
    near = _near(name, folder, file)
    raise refuse("PD501", span, case=name, searched=", ".join(searched), near=near, publisher=_PUBLISHER)


def _data_folders() -> list[Path]:
    root = os.environ.get("PDUAL_DATA")
    return [Path(root).expanduser() / "power" / name for name in _FOLDERS] if root else []


def _near(name: str, folder: Path, file: Path) -> str | None:
    beside = [str(file.with_name(other.name)) for other in (folder / file).parent.glob("*.m")]
    published = [other.stem for place in _data_folders() for other in place.glob("*.m")]
    matches = get_close_matches(name, sorted({*SHIPPED_CASES, *beside, *published}), n=1, cutoff=0.7)
    return matches[0] if matches else None
