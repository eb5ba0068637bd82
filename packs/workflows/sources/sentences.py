"""Sentence encoders: texts to vectors, by sentence-transformers, which is imported here only and only when it is needed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pdual.dsl.diagnostics import refuse
from pdual.dsl.spans import Span
from pdual.runtime.system.foreign import check_encoder, only_read
from pdual.runtime.system.hub import unreachable

PACKAGE = "sentence-transformers"
TOKENS = 500  # a longer text is cut, as FLORA-Bench's own loader does

#: Texts to vectors, [texts, width].
Encoder: TypeAlias = Callable[[Sequence[str]], Any]


def load_encoder(name: str, count: int, folder: Path | None, span: Span) -> Encoder:
    """A model that sentence-transformers loads, by its name on the hub or by its folder.

    ``count`` texts wait for it; ``folder`` is where their embeddings could lie instead. Raises PD545 (the package is not
    installed), PD546 (the model cannot be had).
    """
    silent = None
    try:
        from sentence_transformers import SentenceTransformer

        own = Path(name) if Path(name).is_dir() else None
        silent = None if own is not None else unreachable(name)
        if own is not None:
            check_encoder(own)
        with only_read(own):
            model = SentenceTransformer(name, local_files_only=silent is not None, **_careful(SentenceTransformer))
        # Positions beyond those that it was trained with are none: it may allow fewer.
        model.max_seq_length = min(TOKENS, _positions(model))
    except ModuleNotFoundError as error:
        # Also what it needs in turn: pip puts both right.
        raise refuse("PD545", span, package=error.name or PACKAGE, count=count, folder=folder) from None
    except Exception as error:  # hubs, files and formats fail in ways of their own
        text = str(error).strip()
        reason = silent or (text.splitlines()[0] if text else type(error).__name__)
        raise refuse("PD546", span, encoder=name, reason=reason, count=count, folder=folder) from None

    def encode(texts: Sequence[str]) -> Any:
        return model.encode(list(texts), convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False)

    return encode


def _careful(kind: Any) -> dict[str, Any]:
    """Settings that say once more what is so by default in some versions only: no code of a model's own, and no pickled weights."""
    known = inspect.signature(kind).parameters
    careful = {"trust_remote_code": False, "model_kwargs": {"use_safetensors": True}}
    return {name: value for name, value in careful.items() if name in known}


def _positions(model: Any) -> int:
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    return int(getattr(config, "max_position_embeddings", TOKENS))
