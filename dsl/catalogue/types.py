"""Wording of PD2: types and index sets."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry

ENTRIES: tuple[Entry, ...] = ()
