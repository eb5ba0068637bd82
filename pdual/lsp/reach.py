"""The names in reach of the cursor, read off the tokens: the block that is being typed may have no tree."""

from __future__ import annotations

from collections.abc import Iterator

from pdual.lsp.cursor import Cursor
from pdual.lsp.symbols import Index, Symbol

_NO_NAMES: dict[str, Symbol] = {}


class Reach:
    """What the names of the block and the statement in hand stand for.

    ``names``: each with what it is. ``rows``: those that are rows, with their data set. ``outputs``: lets that are
    records, with their model. ``groups``: group variables with their data set.
    """

    def __init__(self, where: Cursor) -> None:
        self.names: dict[str, str] = {}
        self.rows: dict[str, str] = {}
        self.groups: dict[str, str] = {}
        self.outputs: dict[str, str] = {}
        self._read_block(where)
        self._read_indices(where)

    def _read_block(self, where: Cursor) -> None:
        tokens = where.tokens
        blocks = [start for start in where.starts if tokens[start : start + 1] and tokens[start].kind == "OVER"]
        blocks = [start for start in blocks if any(start < position for position in where.opened)]
        if not blocks:
            return
        texts = [token.text for token in tokens[blocks[-1] : blocks[-1] + 6]]
        match texts:
            case ["over", "group", row, "of", data, *_]:
                self.names[row], self.groups[row] = f"group of rows of {data}", data
            case ["over", row, "in", data, *_]:
                self.names[row], self.rows[row] = f"row of {data}", data
        for start in where.starts:
            if start > blocks[-1] and tokens[start : start + 1] and tokens[start].kind == "LET":
                self._read_let(where, start)

    def _read_let(self, where: Cursor, start: int) -> None:
        if start == where.statement:
            return  # a `let` does not read itself
        tokens = where.tokens[start + 1 : start + 40]
        taken_apart = bool(tokens) and tokens[0].kind == "LPAR"
        for token in tokens:
            if token.kind == "NAME":
                self.names[token.text] = "let"
            if token.kind == "RPAR" or not taken_apart:
                break
        match [token.text for token in tokens[:4]]:
            case [name, "=", model, "("]:
                self.outputs[name] = model

    def _read_indices(self, where: Cursor) -> None:
        heads = where.heads
        for name, word, domain in zip(heads, heads[1:], heads[2:], strict=False):
            if name.kind == "NAME" and word.kind == "IN" and domain.kind == "NAME" and heads[0].kind != "OVER":
                self.names[name.text] = f"index over {domain.text}"
                if domain.text in self.groups:
                    self.rows[name.text] = self.groups[domain.text]

    def members(self, base: str, index: Index) -> Iterator[Symbol]:
        """What may stand after `base.`."""
        holder = self.rows.get(base) or self.outputs.get(base) or base
        symbol = index.values.get(holder)
        yield from (symbol.members if symbol is not None else _NO_NAMES).values()
