"""The sources that pdual ships, one module a family."""

from __future__ import annotations

from pdual.dsl.declarations.source import SourceDeclaration
from pdual.dsl.declarations.sources_images import DIGITS, MNIST
from pdual.dsl.declarations.sources_language import FLORA, TOFU
from pdual.dsl.declarations.sources_power import POWER_CASE, POWER_DEMANDS
from pdual.dsl.declarations.sources_table import BOUND, CSV

SOURCES: tuple[SourceDeclaration, ...] = (BOUND, CSV, DIGITS, FLORA, MNIST, POWER_CASE, POWER_DEMANDS, TOFU)
