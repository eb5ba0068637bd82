"""Comments and blank lines between tokens, and where they stand in the layout.

The gap after a token holds at most one comment that trails it, and then comments on lines of their own. A comment in a
gap where no line can end goes to one where it can: forwards to the next, or, on a line of its own, back to the last one
if no other comment is passed on the way. So comments keep their order, and a second pass finds each where it is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pdual.dsl.formatting.document import START
from pdual.dsl.spans import LINE_END
from pdual.dsl.tree import Token


@dataclass(slots=True)
class Comment:
    """A comment, without the blanks at its end."""

    text: str
    own_line: bool
    after_blank: bool  # a blank line stands before it


@dataclass(slots=True)
class Gap:
    """What stands between two tokens."""

    comments: list[Comment] = field(default_factory=list)
    blank: bool = False  # a blank line stands before the next token

    @property
    def divides(self) -> bool:
        """Whether a blank line stands anywhere in it."""
        return self.blank or any(comment.after_blank for comment in self.comments)


def gaps(text: str, tokens: Sequence[Token]) -> Mapping[int, Gap]:
    """The gaps that hold a comment or a blank line, by the position of the token before."""
    found: dict[int, Gap] = {}
    end = 0
    for index, token in enumerate(tokens):
        # END stands where the last token ends; what follows that belongs to the last gap.
        start = token.span.start if index < len(tokens) - 1 else len(text)
        between = text[end:start]
        if "#" in between or len(LINE_END.findall(between)) > 1:
            found[index - 1] = _gap(between, index == 0)
        end = token.span.end
    return found


def _gap(between: str, is_first: bool) -> Gap:
    gap = Gap()
    first, *rest = LINE_END.split(between)
    for number, line in enumerate((first, *rest)):
        content = line.strip(" \t\f\v\ufeff").rstrip()
        if content:
            gap.comments.append(Comment(content, own_line=number > 0 or is_first, after_blank=gap.blank))
            gap.blank = False
        elif 0 < number < len(rest):
            gap.blank = True
    return gap


def texts(gaps: Mapping[int, Gap]) -> list[str]:
    """Every comment, in order."""
    return [comment.text for index in sorted(gaps) for comment in gaps[index].comments]


def placed(gaps: Mapping[int, Gap], allowed: Iterable[int]) -> Mapping[int, Gap]:
    """The gaps with every comment in one where a line may end; ``allowed`` names those, in order."""
    slots = [START, *allowed]
    result = {index: Gap(blank=gaps[index].blank) for index in slots if index in gaps}
    last = START
    for index, comment in _comments(gaps):
        at = bisect_right(slots, index) - 1
        stays = slots[at] == index
        if not stays and (not comment.own_line or slots[at] < last):
            at = bisect_left(slots, index)
        last = slots[at]
        gap = result.setdefault(last, Gap())
        if not stays:
            # One that went back stands before the blank line's next token, one that went on has none before it.
            comment.after_blank, gap.blank = (gap.blank, False) if last < index else (False, gap.blank)
        comment.own_line = comment.own_line or bool(gap.comments) or last == START
        gap.comments.append(comment)
    return result


def _comments(gaps: Mapping[int, Gap]) -> Iterator[tuple[int, Comment]]:
    return ((index, comment) for index in sorted(gaps) for comment in gaps[index].comments)
