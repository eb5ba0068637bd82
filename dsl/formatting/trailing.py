"""Lines to text: comments after neighbouring lines of a block stand in one column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pdual.dsl.formatting.alignment import columns
from pdual.dsl.formatting.printing import Printed

BEFORE_COMMENT = 4  # blanks
MOST_PADDING = 20  # blanks that aligning comments may add


def joined(lines: Sequence[Printed]) -> str:
    """The text of lines."""
    for block in _blocks(lines):
        commented = [line for line in block if line.comment is not None]
        if commented:
            widths = [len(line.text) for line in commented]
            for line, end in zip(commented, columns(widths, MOST_PADDING), strict=True):
                line.text = f"{line.text:<{end + BEFORE_COMMENT}}{line.comment}"
    return "".join(f"{line.text}\n" for line in lines)


def _blocks(lines: Sequence[Printed]) -> Iterator[list[Printed]]:
    """Runs of lines at one indent, without a blank line or a closing bracket between them."""
    block: list[Printed] = []
    for line in lines:
        if block and (line.indent != block[0].indent or not line.text or line.text.lstrip()[:1] in set(")]}")):
            yield block
            block = []
        if line.text:
            block.append(line)
    if block:
        yield block
