"""Modules of the user's and a run's own copies of them: the copies are trained, and what they come to is handed back at the end."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from pdual.dsl import typed
from pdual.dsl.declarations.signature import Sizes
from pdual.dsl.diagnostics import Diagnostic, diagnostic, refuse
from pdual.runtime.models.adapted import adapted
from pdual.runtime.optimisation.optimisers import trainable

#: What the weights of a module added up to when a run handed them back.
_handed_back: WeakKeyDictionary[nn.Module, tuple[float, ...]] = WeakKeyDictionary()


def own_modules(given: Mapping[str, nn.Module], spec: typed.TypedSpec, sizes: Sizes) -> dict[str, nn.Module]:
    """A copy of every module, called as models are; what modules share, their copies share. Raises PD614."""
    known = {model.name: model for model in spec.models}
    for name, module in given.items():
        lazy = next(
            (place for place, weight in [*module.named_parameters(), *module.named_buffers()] if is_lazy(weight)), None
        )
        if lazy is not None:
            reason = f"`{lazy}` has no shape yet: call the module once"
            raise refuse("PD614", known[name].span, model=name, reason=reason)
        if any(isinstance(layer, torch.jit.ScriptModule) and trainable(layer) for layer in module.modules()):
            reason = "the weights of a script cannot be trained; give the module that it was made of"
            raise refuse("PD614", known[name].span, model=name, reason=reason)
    memo: dict[int, Any] = {}
    for module in given.values():
        _detach(module, memo)
    own = {}
    for name, module in given.items():
        try:
            own[name] = _copied(module, memo).cpu()
        except Exception as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise refuse("PD614", known[name].span, model=name, reason=reason) from error
    return {name: adapted(module, known[name], sizes) for name, module in own.items()}


def _copied(module: nn.Module, memo: dict[int, Any]) -> nn.Module:
    known = dict(memo)
    try:
        found = copy.deepcopy(module, known)
    except Exception:
        shared = {id(value): value for value in _uncopied(module)}
        if not shared:
            raise
        known = memo | shared
        found = copy.deepcopy(module, known)
    memo.update(known)
    return found


def _uncopied(module: nn.Module) -> Iterator[Any]:
    """What layers hold that has no copy, as a lock or an open file, and stays one for all."""
    for layer in module.modules():
        for name, value in vars(layer).items():
            if not (name.startswith("_") or isinstance(value, nn.Module | Tensor | list | tuple | dict)):
                try:
                    copy.deepcopy(value)
                except Exception:
                    yield value


def _detach(module: nn.Module, memo: dict[int, Any]) -> None:
    """Tensors that a module keeps of an earlier call hang on its graph, and could not be copied."""
    for layer in module.modules():
        for value in vars(layer).values():
            if isinstance(value, Tensor) and not value.is_leaf:
                memo[id(value)] = value.detach().clone()


@torch.no_grad()
def hand_back(own: Mapping[str, nn.Module], given: Mapping[str, nn.Module]) -> None:
    """The weights and buffers that a run came to, in the modules that were given, whose type, place and modes stay."""
    for name, module in given.items():
        found = _tensors(getattr(own[name], "module", own[name]))
        for place, tensor in _tensors(module).items():
            if place in found and found[place].shape == tensor.shape:
                if tensor.is_inference():
                    with torch.inference_mode():
                        tensor.copy_(found[place])
                else:
                    tensor.copy_(found[place])
        _handed_back[module] = _sums(module)


def trained_before(given: Mapping[str, nn.Module], spec: typed.TypedSpec) -> tuple[Diagnostic, ...]:
    """A warning (PD617) for every module whose weights are still those that an earlier run came to."""
    spans = {model.name: model.span for model in spec.models}
    return tuple(
        diagnostic("PD617", spans[name], model=name)
        for name, module in given.items()
        if module in _handed_back and _handed_back[module] == _sums(module)
    )


def _tensors(module: nn.Module) -> dict[str, Tensor]:
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


@torch.no_grad()
def _sums(module: nn.Module) -> tuple[float, ...]:
    return tuple(float(weight.double().abs().sum()) for weight in module.parameters())
