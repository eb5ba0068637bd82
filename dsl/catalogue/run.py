"""Wording of PD6 and PD7: running and usage."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD640",
        "architecture `{architecture}` cannot be trained yet by this version",
        notes=("its declaration is checked and explained; only the network itself is not built",),
    ),
)
