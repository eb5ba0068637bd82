"""The long text of every code: why it is a mistake, and where a spec can make it, one that does beside its repair.

One file a code, ``PD204.md``: a paragraph, then two blocks of code. Mistakes that no text of a spec makes (in data, runs, commands)
have a ``reason`` in their entry of the catalogue.
"""

from __future__ import annotations

from importlib.resources import files

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.diagnostics import refuse
from pdual.dsl.near import nearest
from pdual.dsl.record import record

_FENCE = "```"


@record(frozen=True, slots=True)
class LongText:
    """``failing`` and ``repaired`` are whole specs, or both None."""

    code: str
    reason: str
    failing: str | None
    repaired: str | None


def explain(code: str) -> LongText:
    """The long text of a code, in any case. Raises PD790 (no such code)."""
    wanted = code.strip().upper()
    if wanted not in CATALOGUE:
        raise refuse("PD790", found=code, near=nearest(wanted, CATALOGUE))
    if CATALOGUE[wanted].reason:
        return LongText(wanted, CATALOGUE[wanted].reason, None, None)
    text = files(__package__).joinpath(f"{wanted}.md").read_text(encoding="utf-8")
    reason, *blocks = text.split(f"\n{_FENCE}pdual\n")
    specs = [block.partition(f"\n{_FENCE}")[0] + "\n" for block in blocks]
    failing, repaired = specs
    return LongText(wanted, reason.strip(), failing, repaired)


def heading(code: str) -> str:
    """The statement of a code with its facts left open: ``there is no value called `NAME` here``."""
    title = CATALOGUE[code].title
    while "{" in title:
        before, _, rest = title.partition("{")
        name, _, after = rest.partition("}")
        title = before + name.partition(":")[0].upper() + after
    return title
