"""Wording of PD4: how multipliers are held."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry

ENTRIES: tuple[Entry, ...] = ()
