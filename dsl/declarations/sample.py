"""What stands in, in a quick run, for what is not on this machine: rows of a source, or weights of an architecture."""

from __future__ import annotations

from collections.abc import Callable

from pdual.dsl.declarations.references import Settings
from pdual.dsl.record import record


@record(frozen=True, slots=True)
class Sample:
    """What comes with a package, or is made on the spot, so that ``pdual run --quick`` needs no network.

    ``words`` says what it is, and ``whole(settings)`` how to get what it stands in for, both as half a sentence. ``covers(settings)``: whether it can
    stand in for what these name. These are light. ``present``, ``"module:function"``: ``(settings, context) -> bool``, whether the whole is on this
    machine; no network is asked.

    ``builder``, ``"module:function"``. Of a source (of role ``data``): ``(settings, context) -> Table`` as its own builder, and
    the table's fingerprint is none that the whole can have. Of an architecture: ``(settings, context: ModelSampleContext) ->
    Settings``, which are used in place of the spec's.
    ``steps`` and ``outer``: how many primal steps and outer iterations at most a quick run makes on it; without, as many as any quick run.
    """

    words: str
    whole: Callable[[Settings], str]
    covers: Callable[[Settings], bool]
    present: str
    builder: str
    steps: int | None = None
    outer: int | None = None
