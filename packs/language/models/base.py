"""Pretrained weights and their tokenizer: from the hub, from a folder, or from a run that trained them."""

from __future__ import annotations

import hashlib
import importlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from logging import ERROR
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.spans import Span
from pdual.packs.language.declarations.architecture import CausalLmSettings
from pdual.runtime.data.context import SourceContext
from pdual.runtime.system.foreign import check_folder, only_read
from pdual.runtime.system.hub import unreachable

#: The state of a run that a language model is taken from, as ``pdual.runtime.storage.folder`` writes it.
_RECORD, _TENSORS, _STATE = "run.json", "checkpoint/tensors.safetensors", "checkpoint/state.json"
#: Under this key a model's state tells what it was built on.
ORIGIN = "_extra_state"


@dataclass(frozen=True, slots=True)
class Base:
    """``model`` (a causal model of transformers, in float32, without dropout), its ``tokenizer``, and the tokens it can hold."""

    model: Any
    tokenizer: Any
    context: int | None


def load_base(base: str, span: Span) -> Base:
    """Load a base by its name or folder; no code of its own is run, nothing is unpickled.

    Raises PD644 (it cannot be had), PD645 (a package is not installed), PD653 (a run that trained no language model).
    """
    package("transformers", span)
    folder = Path(base).expanduser()
    if (folder / _RECORD).is_file():
        return _of_run(folder, span)
    if not folder.is_dir() and (base.startswith((".", "/", "~")) or base.count("/") > 1):
        raise refuse("PD644", span, base=base, reason="there is no such folder")
    from huggingface_hub.utils import logging as hub
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # of loading, which pdual's own would stand beside
    noise = hub.get_verbosity()
    hub.set_verbosity(ERROR)  # of attempts that fail, after which what failed is told once
    where = str(folder) if folder.is_dir() else base
    silent = None if folder.is_dir() else unreachable(base)
    local = silent is not None  # what was downloaded once is enough
    try:
        if folder.is_dir():
            check_folder(folder)
        careful = {"local_files_only": local, "trust_remote_code": False}
        with only_read(folder if folder.is_dir() else None):
            config = AutoConfig.from_pretrained(where, **careful)
            _without_dropout(config)
            tokenizer = AutoTokenizer.from_pretrained(where, **careful)
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                where, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True, **careful
            )
        model, told = loaded
        lacking = sorted({str(name) for name in told.get("missing_keys") or ()})
        if lacking:  # they would be random numbers
            raise ValueError(
                f"its weights lack `{lacking[0]}`" + (f" and {len(lacking) - 1} more" if lacking[1:] else "")
            )
    except Exception as error:  # hubs, files and formats fail in ways of their own
        raise _unusable(base, folder.is_dir(), silent or _line(error), span) from None
    finally:
        hub.set_verbosity(noise)
    return Base(model, tokenizer, getattr(config, "max_position_embeddings", None))


def present(settings: CausalLmSettings, context: SourceContext) -> bool:
    """Whether a base is on this machine: a folder, or what was downloaded of the hub. Raises PD645."""
    if Path(settings.base).expanduser().exists():
        return True
    package("transformers", context.span)
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(settings.base, "config.json"), str)


def with_adapter(model: Any, rank: int, alpha: float, layers: int, span: Span) -> Any:
    """The model with an adapter of low rank beside every matrix of its layers; only the adapter trains.

    ``layers``: beside the last so many layers only, 0: all. Raises PD645.
    """
    package("peft", span)
    from peft import LoraConfig, TaskType, get_peft_model
    from transformers.pytorch_utils import Conv1D

    inside = {module for block in blocks_of(model)[-layers:] for module in block.modules()}
    linear = [
        name for name, module in model.named_modules() if isinstance(module, nn.Linear | Conv1D) and module in inside
    ]
    config = LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=rank,
        lora_alpha=alpha,  # type: ignore[arg-type]
        target_modules=linear,
        lora_dropout=0.0,
        fan_in_fan_out=any(isinstance(module, Conv1D) for module in inside),
    )
    with warnings.catch_warnings():  # of what peft asks of transformers
        warnings.simplefilter("ignore", FutureWarning)
        return get_peft_model(model, config)


def blocks_of(model: nn.Module) -> nn.ModuleList:
    """The layers of a transformer: its longest list of modules."""
    return max((item for item in model.modules() if isinstance(item, nn.ModuleList)), key=len)


def package(name: str, span: Span) -> None:
    """Raises PD645 where a package is not installed."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise refuse("PD645", span, package=error.name or name) from None


def fingerprint(model: nn.Module) -> str:
    """Which weights these are, by their content."""
    found = hashlib.sha256()
    for name, weight in sorted(model.named_parameters()):
        found.update(name.encode())
        found.update(weight.detach().to(torch.float32).contiguous().cpu().numpy().data)
    return found.hexdigest()[:24]


def origin(settings: CausalLmSettings, weights: str) -> Mapping[str, Any]:
    """What a model's state says of what it was built on; a later run that starts from it builds the same."""
    folder = Path(settings.base).expanduser()
    return {
        "base": str(folder.resolve()) if folder.is_dir() else settings.base,
        "weights": weights,
        "lora": settings.lora,
        "lora_alpha": settings.lora_alpha,
        "layers": settings.layers,
    }


def _of_run(folder: Path, span: Span) -> Base:
    """A run's language model: its base with the weights that were trained, an adapter merged into them."""
    try:
        state = json.loads((folder / _STATE).read_text(encoding="utf-8"))["models"]
        origins = {name: value for name, value in state.items() if name.endswith(f".{ORIGIN}")}
        if len(origins) != 1:
            raise refuse("PD653", span, base=folder, found=len(origins))
        ((key, found),) = origins.items()
        prefix = key.removesuffix(ORIGIN)
        names = {
            name.removeprefix(f"{prefix}model."): value["$tensor"]
            for name, value in state.items()
            if name.startswith(f"{prefix}model.")
        }
        with safe_open(folder / _TENSORS, framework="pt") as file:
            weights = {name: file.get_tensor(place) for name, place in names.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        raise refuse("PD644", span, base=folder, reason=_line(error)) from None
    _check_origin(folder, found, span)
    base = load_base(str(found["base"]), span)
    model = base.model
    if (found["lora"] or found["layers"]) and fingerprint(model) != found["weights"]:
        raise refuse("PD654", span, base=found["base"], saved=found["base"])
    if found["lora"]:
        model = with_adapter(model, int(found["lora"]), float(found["lora_alpha"]), int(found["layers"]), span)
    try:
        fits = not model.load_state_dict(weights, strict=False).unexpected_keys
    except (RuntimeError, TypeError):
        fits = False
    if not fits:
        raise refuse("PD644", span, base=folder, reason=f"its weights do not fit `{found['base']}`")
    return Base(model.merge_and_unload() if found["lora"] else model, base.tokenizer, base.context)


def _check_origin(folder: Path, found: Any, span: Span) -> None:
    """A run from elsewhere may name a model of the hub that it was built on, and no folder. Raises PD644."""
    from pdual.runtime.storage.folder import RunFolder

    fields = {"base": str, "weights": str, "lora": int, "lora_alpha": int | float, "layers": int}
    if not isinstance(found, Mapping) or not all(isinstance(found.get(name), kind) for name, kind in fields.items()):
        raise refuse("PD644", span, base=folder, reason="it does not say what its model was built on")
    if Path(found["base"]).expanduser().is_dir() and not RunFolder.open(folder).is_own:
        reason = f"it was built on the folder `{found['base']}`, which a run from elsewhere may not have read"
        raise refuse("PD644", span, base=folder, reason=reason)


def _without_dropout(config: Any) -> None:
    """No noise: a constraint on a row is then measured on the model that is evaluated."""
    for name, value in vars(config).items():
        if isinstance(value, float) and ("drop" in name or name.endswith("pdrop")):
            setattr(config, name, 0.0)


def _unusable(base: str, is_folder: bool, reason: str, span: Span) -> Refusal:
    searched = None if is_folder else "the hub's cache on this machine, and the hub"
    return refuse("PD644", span, base=base, reason=reason, searched=searched)


def _line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0].rstrip(".") if text else type(error).__name__
