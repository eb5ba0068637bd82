"""The LALR(1) automaton. It takes tokens one by one, lists the tokens that it would accept, and can be reset to an earlier state."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from pdual.dsl.layout import CLOSERS, OPENERS
from pdual.dsl.spans import NOWHERE, Span
from pdual.dsl.tables import START, Tables
from pdual.dsl.tree import END, Branch, Token, Tree


@dataclass(slots=True)
class Machine:
    """A parse in progress: three stacks of equal height above the start state.

    ``spans`` are kept apart from the values' own: brackets around an expression belong to what encloses it.
    """

    tables: Tables
    states: list[int] = field(default_factory=lambda: [0])
    values: list[Branch] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    _climbs: dict[tuple[int, int, str], int] = field(default_factory=dict)

    def accepts(self, *kinds: str) -> bool:
        """Whether these terminals, one after the other, could come next. Changes nothing."""
        tables = self.tables
        kept = len(self.states)  # this much of the stack still stands; ``above`` is what came on top of it
        above: list[int] = []
        for kind in kinds:
            while True:
                state = above[-1] if above else self.states[kept - 1]
                action = tables.actions[state].get(kind)
                if action is None:
                    return False
                if action >= 0:
                    above.append(action)
                    break
                rule = tables.rules[-1 - action]
                if rule.size <= len(above):
                    del above[len(above) - rule.size :]
                else:
                    kept -= rule.size - len(above)
                    above.clear()
                below = above[-1] if above else self.states[kept - 1]
                above.append(self._climbed(below, tables.gotos[below][rule.origin], kind))
                if kind == END and rule.origin == START:
                    return True
        return True

    def feed(self, token: Token) -> bool:
        """Take the next token; False, with nothing changed, where it cannot come next."""
        actions, states, kind = self.tables.actions, self.states, token.kind
        action = actions[states[-1]].get(kind)
        if action is None or (action < 0 and not self._leads_on(action, kind)):
            return False
        while action < 0:
            self._reduce(-1 - action, kind)
            if kind == END and self._is_whole():
                return True
            action = actions[states[-1]][kind]
        states.append(action)
        self.values.append(token)
        self.spans.append(token.span)
        return True

    def _leads_on(self, action: int, kind: str) -> bool:
        """``accepts`` of one terminal that a reduction comes before: after that one, most are shifted."""
        rule = self.tables.rules[-1 - action]
        if rule.origin == START:
            return self.accepts(kind)
        below = self.states[-1 - rule.size]
        state = self._climbed(below, self.tables.gotos[below][rule.origin], kind)
        following = self.tables.actions[state].get(kind)
        return following is not None and (following >= 0 or self.accepts(kind))

    @property
    def last(self) -> Branch | None:
        """What was taken or built last."""
        return self.values[-1] if self.values else None

    def innermost(self, kinds: Container[str]) -> Token | None:
        """The innermost open bracket of these kinds."""
        closed = 0
        for value in reversed(self.values):
            if isinstance(value, Token) and value.kind in OPENERS:
                closed += 1
            elif isinstance(value, Token) and value.kind in CLOSERS:
                if not closed and value.kind in kinds:
                    return value
                closed = max(closed - 1, 0)
        return None

    def wind_back(self, height: int) -> None:
        """Forget everything above this many values."""
        del self.states[height + 1 :], self.values[height:], self.spans[height:]

    def _reduce(self, number: int, kind: str) -> None:
        rule = self.tables.rules[number]
        if rule.transparent and rule.size == 1:
            below = self.states[-2]
            self.states[-1] = self._climbed(below, self.tables.gotos[below][rule.origin], kind)
            return
        values, spans, states = self.values, self.spans, self.states
        start = len(values) - rule.size
        span = spans[start].to(spans[-1]) if rule.size else NOWHERE
        children = [values[start + index] for index in rule.keep]
        if rule.splices:
            children = self._children(children)
        value = children[0] if rule.transparent and len(children) == 1 else Tree(rule.label, children, span)
        del states[start + 1 :], values[start:], spans[start:]
        states.append(self.tables.gotos[states[-1]][rule.origin])
        values.append(value)
        spans.append(span)

    def _climbed(self, below: int, state: int, kind: str) -> int:
        """The state on top once an operand has climbed to where it is used: most reductions make no node, and come in chains."""
        key = below, state, kind
        found = self._climbs.get(key)
        if found is None:
            tables, found = self.tables, state
            while (action := tables.actions[found].get(kind, 0)) < 0:
                rule = tables.rules[-1 - action]
                if not (rule.transparent and rule.size == 1):
                    break
                found = tables.gotos[below][rule.origin]
            self._climbs[key] = found
        return found

    @staticmethod
    def _children(values: list[Branch]) -> list[Branch]:
        """The children, with the spliced helpers of repetitions opened."""
        children: list[Branch] = []
        for value in values:
            if isinstance(value, Tree) and value.label.startswith("_"):
                # A repetition holds its own first part: growing that list keeps a long one linear.
                children = [*children, *value.children] if children else value.children
            else:
                children.append(value)
        return children

    def _is_whole(self) -> bool:
        """Whether all that was taken is one spec."""
        whole = self.values[0]
        return len(self.values) == 1 and isinstance(whole, Tree) and whole.label == START
