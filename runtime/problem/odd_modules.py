"""What is odd about modules from Python, seen on a few rows before anything is trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from pdual.dsl import typed
from pdual.dsl.diagnostics import Diagnostic, diagnostic
from pdual.runtime.data.tables import Ragged, RowBatch, with_groups
from pdual.runtime.models.adapted import Adapted
from pdual.runtime.optimisation.optimisers import trainable
from pdual.runtime.problem.problem import Problem

#: Rows that are looked at.
_ROWS = 4


def odd_modules(problem: Problem, spec: typed.TypedSpec, dtype: torch.dtype) -> tuple[Diagnostic, ...]:
    """Warnings of modules that nothing can train (PD613), some of whose outputs have no gradient (PD618), whose outputs are not a
    function of their inputs in evaluation (PD615), or not of those of their own row (PD616). Weights, buffers and generators stay as they are.
    """
    given = {name: model for name, model in problem.models.items() if isinstance(model, Adapted)}
    found = []
    frozen = spec.frozen
    spans = {model.name: model.span for model in spec.models}
    for name, module in problem.models.items():
        if name in spans and name not in frozen and _of_user(name, spec) and not trainable(module) and _weights(module):
            found.append(diagnostic("PD613", spans[name], model=name))
    if given:
        with _untouched(given):
            for name, arguments in _asked(problem, given, dtype).items():
                found += _odd(given[name], arguments)
    return tuple(found)


def _of_user(name: str, spec: typed.TypedSpec) -> bool:
    return any(model.name == name and model.architecture is None for model in spec.models)


def _weights(module: nn.Module) -> bool:
    return next(iter(module.parameters()), None) is not None


@contextmanager
def _untouched(given: Mapping[str, nn.Module]) -> Iterator[None]:
    buffers = [(buffer, buffer.clone()) for module in given.values() for buffer in module.buffers()]
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        yield
        for buffer, before in buffers:
            buffer.copy_(before)


def _asked(problem: Problem, given: Mapping[str, Adapted], dtype: torch.dtype) -> dict[str, list[Tensor]]:
    """The arguments of the first call of every module, on the first train rows."""
    problem.models.eval()
    for module in given.values():
        module.asked = []
    try:
        for block in problem.blocks:
            rows = block.table.batch(block.table.splits["train"][:_ROWS])
            values = {name: _as(value, dtype) for name, value in rows.values.items()}
            rows = with_groups(RowBatch(rows.ids, values), [len(rows.ids)])
            block.program.evaluate(rows.values, rows.ids)
        return {name: module.asked[0] for name, module in given.items() if module.asked and module.asked[0]}
    finally:
        for module in given.values():
            module.asked = None


def _as(value: object, dtype: torch.dtype) -> object:
    if isinstance(value, Ragged):
        return Ragged(value.values.to(dtype) if value.values.is_floating_point() else value.values, value.offsets)
    return value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value


def _odd(module: Adapted, arguments: Sequence[Tensor]) -> Iterator[Diagnostic]:
    model, count, device = module.contract.model, len(arguments[0]), arguments[0].device

    def called(rows: slice) -> dict[str, Tensor]:
        own = [argument[rows].clone() for argument in arguments]
        return module.call(own, len(own[0]), device)

    every = slice(0, count)
    state = torch.get_rng_state()
    with torch.enable_grad():
        first = called(every)
    yield from _without_gradient(module, first)
    kept = {name: value.clone() for name, value in first.items()}
    again = called(every)
    module.call([argument.flip(0) for argument in arguments], count, device)
    if not _close(again, kept, 1e-5) or not _close(first, kept, 0.0):
        torch.set_rng_state(state)
        third = called(every)
        torch.set_rng_state(state)
        drawn = _close(called(every), third, 1e-5) and not _close(again, third, 1e-5)
        yield diagnostic("PD615", model.span, model=model.name, **({"drawn": "1"} if drawn else {"changed": "1"}))
        return
    for row in range(count if count > 1 else 0):
        alone = called(slice(row, row + 1))
        if not _close(alone, {name: value[row : row + 1] for name, value in kept.items()}, 1e-3):
            yield diagnostic("PD616", model.span, model=model.name)
            return


def _without_gradient(module: Adapted, outputs: Mapping[str, Tensor]) -> Iterator[Diagnostic]:
    """Some of the outputs: where none has a gradient the first step says so (PD612)."""
    still = [name for name, value in outputs.items() if not value.requires_grad]
    if 0 < len(still) < len(outputs):
        model = module.contract.model
        yield diagnostic("PD618", model.span, model=model.name, names=", ".join(f"`{name}`" for name in still))


def _close(tensors: Mapping[str, Tensor], other: Mapping[str, Tensor], share: float) -> bool:
    """Whether outputs are the same but for rounding: a share of the largest of them."""
    for name, value in tensors.items():
        known = other[name]
        largest = float(known.abs().nan_to_num(0.0, 0.0, 0.0).max()) if known.numel() else 0.0
        if not torch.allclose(value, known, rtol=share, atol=share * largest, equal_nan=True):
            return False
    return True
