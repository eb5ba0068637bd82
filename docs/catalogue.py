"""The page of diagnostics, from the catalogue and the long texts: `conf.py` writes it before every build."""

from pathlib import Path

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.explanations import explain, heading
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source
from pdual.understanding import understand

PAGE = "diagnostics.md"
GROUPS = {
    "PD0": "syntax",
    "PD1": "names",
    "PD2": "types and index sets",
    "PD3": "ranges",
    "PD4": "multipliers",
    "PD5": "data",
    "PD6": "runs",
    "PD7": "usage",
    "PD9": "bugs in pdual",
}


def write(folder: Path) -> None:
    """Write the page into a folder."""
    (folder / PAGE).write_text(page(), encoding="utf-8")


def page() -> str:
    """Every code with its statement, its long text, a spec that makes the mistake, what is said of it, and the repair."""
    pieces = [
        "# Diagnostics\n\nEvery mistake that pdual tells, by its code. `pdual check --explain PD204` prints the same on a terminal. "
        "A word in capitals stands for what the mistake is about.\n"
    ]
    for group, title in GROUPS.items():
        pieces.append(f"## {group}: {title}\n")
        pieces += [_entry(code) for code in CATALOGUE if code.startswith(group)]
    return "\n".join(pieces)


def _entry(code: str) -> str:
    found = explain(code)
    lines = [f"### {code}\n", f"*{CATALOGUE[code].severity}*: {heading(code)}\n", f"{found.reason}\n"]
    if found.failing is not None:
        source = Source("failing.pdual", found.failing)
        said = render_all(understand(source).diagnostics, source)
        # What breaks the grammar is no text for the lexer.
        first = "text" if code.startswith("PD0") else "pdual"
        for word, text in ((first, found.failing), ("text", said), ("pdual", found.repaired)):
            lines.append(f"```{word}\n{(text or '').rstrip()}\n```\n")
    return "\n".join(lines)
