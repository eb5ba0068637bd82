"""The shape of a catalogue entry: the wording of one kind of mistake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from pdual.dsl.diagnostics import Severity
from pdual.dsl.record import record

#: Roles that a label may have in any mistake: here, the call that brought up a function's body.
ROLES: Mapping[str, str] = {"call": "called here"}


#: The note of an entry that says that the whole of some rows is not on this machine, where a sample could stand in.
SAMPLE_NOTE = "`pdual run` with `--quick` takes a sample instead, which needs no network: {sample}"


@record(frozen=True, slots=True)
class Entry:
    """Templates filled with a diagnostic's facts (``{name}``).

    ``title`` is the one-line statement: lower case, no full stop, no blame, names in backticks. ``label`` stands
    under the primary span, ``roles`` words each secondary label by its role. A note or the help whose facts are
    not all there is left out. Suggestions belong in ``help`` only, and there is at most one. ``fixes`` are what tools may
    put in place of the primary span, the first whose facts are all there. ``reason`` is the long text of a mistake that no text of a
    spec makes; that of the others stands with a failing spec and its repair in ``dsl/explanations``.
    """

    code: str
    title: str
    label: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()  # alternatives, the first whose facts are all there is printed
    fixes: tuple[str, ...] = ()
    severity: Severity = Severity.ERROR
    reason: str = ""

    @property
    def offers_sample(self) -> bool:
        """Whether the mistake is that rows are not on this machine."""
        return SAMPLE_NOTE in self.notes
