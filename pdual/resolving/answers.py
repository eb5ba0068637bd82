"""Results of finished re-solves, stored in the run's folder so that none is solved twice."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from pdual.resolving.plan import Answer

if TYPE_CHECKING:
    from pdual.resolving.plan import Plan, Task
    from pdual.restoring import Restored


class Answers:
    """The lines of ``RUN/sensitivity.jsonl``, by all that a re-solve depends on: the run's checkpoint, the programs' versions, the
    rows and the data set they are of, the seed, and how long and with which rate it is solved.
    """

    def __init__(self, restored: Restored, data: str, plan: Plan) -> None:
        from pdual.runtime.runs.execute import versions

        record = restored.record
        self._folder = restored.folder
        self._shared = {
            "checkpoint": restored.folder.checkpoint_digests,
            "versions": versions(),
            "threads": record.threads,
            "data": data,
            "outer": plan.outer,
            "epochs": plan.epochs,
            "rate": plan.rate,
        }

    def __call__(self, asked: Task) -> Answer | None:
        """What came of a re-solve, or None where it has not ended. The file is read anew: other processes write to it."""
        return self._kept().get(self._key(asked))

    def keep(self, asked: Task, answer: Answer) -> None:
        """Add an answer. Raises PD624 where it cannot be written."""
        self._folder.append_answer(json.dumps({"key": self._key(asked), **asdict(answer)}))

    def _key(self, asked: Task) -> str:
        whole = json.dumps({**self._shared, "rows": asked.rows, "seed": asked.seed}, sort_keys=True)
        return hashlib.sha256(whole.encode()).hexdigest()

    def _kept(self) -> dict[str, Answer]:
        found = {}
        for line in self._folder.answers:
            try:
                item = json.loads(line)
                found[str(item["key"])] = Answer(float(item["objective"]), float(item["violation"]))
            except (ValueError, KeyError, TypeError):
                continue  # a line that a killed process left, or another program's: no answer
        return found
