"""Counterexamples in files: what is needed to check one again, and nothing else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pdual.dsl.diagnostics import refuse
from pdual.runtime.storage.outputs import check_new, write_whole
from pdual.verifying.attack import Counterexample
from pdual.verifying.claim import Case
from pdual.verifying.claims import CLAIMS

FOLDER = "counterexamples"


def save(counterexample: Counterexample, spec: str, folder: Path) -> Path:
    """Write a counterexample to ``folder``; the file is named by its claim and content. Raises PD624, PD627."""
    content = {
        "claim": counterexample.claim.name,
        "about": counterexample.about,
        "found": counterexample.found,
        "case": counterexample.case.as_json(),
        "spec": spec,
    }
    text = json.dumps(content, indent=1, ensure_ascii=False)
    name = hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()[:8]
    path = folder / f"{counterexample.claim.name}-{name}.json"
    written = (text + "\n").encode("utf-8", errors="surrogatepass")
    try:
        if path.is_file() and not path.is_symlink() and path.read_bytes() == written:
            return path
        check_new(path)
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, written)
    except OSError as error:
        raise refuse("PD624", path=path, reason=error.strerror or error) from None
    return path


def load(path: Path) -> tuple[str, str, Case]:
    """The claim's name, what it is about, and the case. Raises PD703 where the file cannot be read, PD621 where it holds none."""
    try:
        written = path.read_bytes()
    except OSError as error:
        raise refuse("PD703", file=path, reason=(error.strerror or str(error)).lower()) from None
    try:
        content: dict[str, Any] = json.loads(written)
        claim = CLAIMS[content["claim"]]
        return claim.name, str(content["about"]), claim.kind.of_json(content["case"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise refuse("PD621", file=path, reason="it does not hold a counterexample") from None
