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
            "Something happened in pdual that nobody foresaw. The message names a file with the traceback; please "
            "report it\n"
            "together with the spec."
        ),
    ),
)
