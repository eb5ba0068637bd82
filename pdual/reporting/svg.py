"""Figures as SVG that stands inside a page: no prolog, ids of its own, a title and a description for those who do not see it."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ID = re.compile(r'\bid="([^"]+)"')
#: Characters of a line of a label.
LONGEST = 80

#: What XML has no place for.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

_USE = re.compile(r'(url\(|href=")#([^)"]+)')


def inlined(figure: Figure, name: str, title: str, words: str) -> str:
    """One ``<svg role="img">``; ``name`` comes before every id in it, so that figures of a page do not share one."""
    import matplotlib as mpl

    literal(figure)
    written = io.StringIO()
    with _quiet(), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif"}):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = written.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = _ID.sub(rf'id="{name}-\1"', text)
    text = _USE.sub(rf"\1#{name}-\2", text)
    head, _, rest = text.partition(">")
    head = re.sub(r'\s(?:width|height)="[^"]*"', "", head)
    width = re.search(r'viewBox="\S+ \S+ (\S+) ', head)
    assert width is not None
    label = f'role="img" aria-labelledby="{name}-title {name}-words" style="max-width: {float(width[1]) / 72:.2f}in"'
    told = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-words">{escape(words)}</desc>'
    return f"{head} {label}>{told}{rest}".strip()


def literal(figure: Figure) -> None:
    """Names stand in a figure as they are: a dollar begins no formula, and what is too long for a label is cut."""
    from matplotlib.text import Text

    ticks = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for label in (*axis.get_ticklabels(which="both"), axis.get_offset_text())
    }
    for item in figure.findobj(Text):
        assert isinstance(item, Text)
        item.set_usetex(False)  # a `matplotlibrc` in the current folder may ask for it, with a preamble of its own
        if id(item) not in ticks:
            item.set_parse_math(False)
            lines = (line if len(line) <= LONGEST else f"{line[:LONGEST]}..." for line in item.get_text().split("\n"))
            item.set_text(_CONTROL.sub("\ufffd", "\n".join(lines)))


@contextmanager
def _quiet() -> Iterator[None]:
    """Of signs that the font which text is measured in lacks: the reader's own has them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        yield


def whole(figure: Figure) -> str:
    """A figure that is a file of its own."""
    literal(figure)
    written = io.StringIO()
    with _quiet():
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()
