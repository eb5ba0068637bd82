"""Models of others are read and never run: no code that lies in their folders, nothing unpickled.

What the libraries that read them would do is looked for first, so that it can be told; while they read, Python itself is asked to
refuse the rest, whatever their version.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from pdual.dsl.declarations.beside import is_beside

#: Keys of configurations under which code is named, or whether it is trusted.
_CODE = ("auto_map", "trust_remote_code", "custom_pipelines", "custom_generate", "kernel_config")

#: Keys under which a name with a `/` stands for code of the hub.
_KERNELS = ("attn_implementation", "_attn_implementation", "experts_implementation", "_experts_implementation")

#: Modules of a sentence encoder, wherever a version of the package keeps them.
_MODULE = re.compile(r"sentence_transformers(\.\w+)*\.(Transformer|Pooling|Normalize|Dense)")
_ACTIVATION = re.compile(r"torch\.nn\.modules\.(activation|linear)\.\w+")

#: Those that have weights, and in which files they are without being pickled.
_WEIGHTS = ("Transformer", "Dense")
_SAFE = ("model.safetensors", "model.safetensors.index.json")


class ForeignCodeError(Exception):
    """A model would run code, or unpickle what does."""


def check_folder(folder: Path) -> None:
    """Raises ForeignCodeError where a model's folder holds code that a library would run."""
    for file in sorted(folder.rglob("*.json")):
        if file.name.startswith(("config", "tokenizer_config", "sentence_", "processor_", "preprocessor_")):
            _check_keys(file, _read(file))
    adapter = folder / "adapter_config.json"
    if adapter.is_file():
        content = _read(adapter)
        base = content.get("base_model_name_or_path") if isinstance(content, Mapping) else None
        if isinstance(base, str) and (not is_beside(base) or Path(base).exists()):
            raise ForeignCodeError(f"`{adapter.name}` in it names another folder, `{base}`")
        if not (folder / "adapter_model.safetensors").is_file():
            raise ForeignCodeError("the weights of its adapter are pickled, and nothing is unpickled")


def check_encoder(folder: Path) -> None:
    """Raises ForeignCodeError where a sentence encoder is made of anything but the package's own modules and unpickled weights."""
    check_folder(folder)
    listed = folder / "modules.json"
    modules = _read(listed) if listed.is_file() else [{"type": "sentence_transformers.models.Transformer", "path": ""}]
    if not isinstance(modules, list) or not all(isinstance(item, Mapping) for item in modules):
        raise ForeignCodeError("its `modules.json` is no list of modules")
    for item in modules:
        kind, place = str(item.get("type", "")), str(item.get("path", ""))
        found = _MODULE.fullmatch(kind)
        if found is None:
            raise ForeignCodeError(
                f"its `modules.json` names `{kind}`, and only modules of sentence-transformers are run"
            )
        if place and not is_beside(place):
            raise ForeignCodeError(f"its `modules.json` names a folder elsewhere, `{place}`")
        inside = folder / place
        if found[2] in _WEIGHTS and not any((inside / name).is_file() for name in _SAFE):
            raise ForeignCodeError(f"it has no `{Path(place) / _SAFE[0]}`: weights that are pickled are not read")
        if found[2] == "Dense":
            written = _read(inside / "config.json")
            activation = written.get("activation_function", "") if isinstance(written, Mapping) else ""
            if activation and not _ACTIVATION.fullmatch(str(activation)):
                raise ForeignCodeError(f"`{activation}` is no activation of torch")


@contextmanager
def only_read(folder: Path | None) -> Iterator[None]:
    """While a library reads a model: no code of its ``folder``, nor of what was downloaded with it, is run, and nothing is unpickled.

    Raises ForeignCodeError from inside.
    """
    _listen()
    places = [os.path.realpath(folder)] if folder is not None else []
    with_code = os.environ.get("HF_MODULES_CACHE") or os.path.join(
        os.environ.get("HF_HOME") or os.path.join(os.path.expanduser("~"), ".cache", "huggingface"), "modules"
    )
    token = _guarded.set((*places, os.path.realpath(with_code)))
    try:
        yield
    finally:
        _guarded.reset(token)


_guarded: ContextVar[tuple[str, ...]] = ContextVar("guarded", default=())
_listening: list[bool] = []


def _listen() -> None:
    """Python reports what it runs to this module from now on; it can't be told to stop."""
    if not _listening:
        _listening.append(True)
        sys.addaudithook(_heard)


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in ("exec", "pickle.find_class"):
        return
    places = _guarded.get()
    if not places:
        return
    if event == "pickle.find_class":
        raise ForeignCodeError("its weights are pickled, and nothing is unpickled")
    file = getattr(arguments[0], "co_filename", "")
    if not file.startswith("<") and any(_is_inside(os.path.realpath(file), place) for place in places):
        raise ForeignCodeError(f"it would run `{file}`")


def _is_inside(file: str, place: str) -> bool:
    return file.startswith(place + os.sep)


def _check_keys(file: Path, value: Any) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in _CODE and item:
                raise ForeignCodeError(f"`{file.name}` in it names code of its own (`{key}`), which is not run")
            if key in _KERNELS and isinstance(item, str) and "/" in item:
                raise ForeignCodeError(f"`{file.name}` in it names code of the hub, `{item}`, which is not run")
            _check_keys(file, item)
    elif isinstance(value, list):
        for item in value:
            _check_keys(file, item)


def _read(file: Path) -> Any:
    """A configuration; what is none is left to the library that reads it."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
