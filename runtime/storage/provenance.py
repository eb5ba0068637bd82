"""Whether a run was made by this user on this machine: such a run may say itself where its files lie, one from elsewhere may not.

``run.json`` is signed with a key that lies among the user's own files and never leaves them: who sends a run cannot sign it, and who
changes one breaks the signature.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pdual.runtime.data.cache import cache_root
from pdual.runtime.data.context import SourceContext

_KEY, _LENGTH = "run.key", 32


def signature(document: Mapping[str, Any]) -> str:
    """Of what is to be written; empty where no key can be kept, so that a run passes for one from elsewhere."""
    key = next((key for place in _places() if (key := _read(place) or _made(place)) is not None), None)
    return "" if key is None else _sign(document, key)


def is_signed(document: Mapping[str, Any], claimed: object) -> bool:
    """Whether ``claimed`` is the signature of a document, with a key of this user on this machine."""
    keys = [key for place in _places() if (key := _read(place)) is not None]
    own = (_sign(document, key).encode() for key in keys)
    return isinstance(claimed, str) and any(
        hmac.compare_digest(item, claimed.encode("utf-8", "replace")) for item in own
    )


def _places() -> tuple[Path, ...]:
    """Where a key may lie: where programs keep what is to last, else in the cache."""
    state = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser() / "pdual"
    return state / _KEY, cache_root(SourceContext()) / _KEY


def _sign(document: Mapping[str, Any], key: bytes) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _made(place: Path) -> bytes | None:
    """A new key, or that of a process that made one at the same time; None where none can be written."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = place.with_name(f".{_KEY}.{secrets.token_hex(8)}")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(secrets.token_bytes(_LENGTH))
            os.link(beside, place)  # only the first of several processes makes the key
        finally:
            beside.unlink()
    except (OSError, RuntimeError):
        pass
    return _read(place)


def _read(place: Path) -> bytes | None:
    try:
        content = place.read_bytes()
    except OSError:
        return None
    return content if len(content) == _LENGTH else None
