"""Figures as SVG that stands inside a page: no prolog, ids of its own, a title and a description for those who do not see it."""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ID = re.compile(r'\bid="([^"]+)"')
_USE = re.compile(r'(url\(|href=")#([^)"]+)')


def inlined(figure: Figure, name: str, title: str, words: str) -> str:
    """One ``<svg role="img">``; ``name`` comes before every id in it, so that figures of a page do not share one."""
    import matplotlib as mpl

    written = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif"}):
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


def whole(figure: Figure) -> str:
    """A figure that is a file of its own."""
    written = io.StringIO()
    figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()
