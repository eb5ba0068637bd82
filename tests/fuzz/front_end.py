"""What the front end does with any bytes: a spec or diagnostics, in a bounded time, and nothing raw on a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.formatting.layout import formatted
from pdual.dsl.printer import as_json, render_all
from pdual.dsl.spans import Source
from pdual.dsl.visible import visible_lines
from pdual.explaining.collect import explanation
from pdual.explaining.mathematics import mathematics
from pdual.explaining.render import render
from pdual.explaining.stages import stage_of
from pdual.runtime.data.context import SourceContext
from pdual.understanding import understand

#: Seconds of the processor that one text may take.
MOST = 10.0


def printed(data: bytes, folder: Path) -> Iterator[str]:
    """Everything that `check`, `explain` and `fmt` print of a spec with these bytes; whatever is raised is a bug."""
    source = Source("p.pdual", data.decode("utf-8", errors="surrogateescape"))
    found = understand(source, context=SourceContext(folder=folder))
    said = render_all(found.diagnostics, source)
    assert visible_lines(said) == said
    yield said
    for item in found.diagnostics:
        assert item.code in CATALOGUE
        assert item.code != "PD999"
        assert 0 <= item.span.start <= item.span.end <= len(source.text)
        as_json(item, source)
    assert found.graph is not None or found.errors
    if found.spec is not None:
        yield "\n".join(line.text for line in render(explanation(found.spec, found.graph, True, None)))
        yield mathematics(found.spec, found.graph, True)
        for stage in ("ast", "typed", "ir") if len(source.text) < 2_000 else ():
            stage_of(found, stage)
    formatted(source)


def hold(data: bytes, folder: Path) -> float:
    """Assert what is promised of any bytes; the seconds that it took."""
    start = time.process_time()
    for text in printed(data, folder):
        # What `say` makes of them has nothing left to be obeyed; messages have nothing from the start.
        assert all(letter.isprintable() or letter in "\n\t" for letter in visible_lines(text))
    spent = time.process_time() - start
    assert spent < MOST, f"{spent:.1f} s"
    return spent
