"""Wording of PD1: a name that is unknown, doubled, unused or circular."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry

ENTRIES: tuple[Entry, ...] = ()
