"""Wording of a bug in pdual itself."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD999",
        "pdual failed in {stage}: {error}",
        notes=("this is a bug in pdual, not in the spec",),
        help=("please report it with the spec and the text in {file}",),
        reason=(
            "An error occurred in pdual that it does not handle. The message names a file with the traceback. Please report it together with "
            "the spec."
        ),
    ),
)
