"""What stands between the text and the nodes of ``syntax``: tokens, and the tree of the grammar's rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from pdual.dsl.spans import Span

END = "$END"


class Token(NamedTuple):
    """A piece of text and the terminal it is."""

    kind: str
    text: str
    span: Span


@dataclass(slots=True)
class Tree:
    """What one rule of the grammar matched."""

    label: str
    children: list[Branch]
    span: Span

    def tokens(self, kind: str) -> list[Token]:
        """The children that are tokens of this kind."""
        return [child for child in self.children if isinstance(child, Token) and child.kind == kind]

    def trees(self) -> list[Tree]:
        """The children that are trees."""
        return [child for child in self.children if isinstance(child, Tree)]

    def find(self, label: str) -> Tree | None:
        """The first child with this label: an optional part."""
        return next((child for child in self.trees() if child.label == label), None)


Branch: TypeAlias = Token | Tree


def height(tree: Tree) -> int:
    """The longest way down from a tree, in nodes, without recursion."""
    deepest = 0
    waiting: list[tuple[Tree, int]] = [(tree, 1)]
    while waiting:
        current, depth = waiting.pop()
        if depth > deepest:
            deepest = depth
        for child in current.children:
            if isinstance(child, Tree):
                waiting.append((child, depth + 1))
    return deepest
