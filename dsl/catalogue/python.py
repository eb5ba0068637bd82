"""Wording of PD6 and PD7: modules from Python, and the arguments of the API."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD611",
        "the gradient of a step cannot be computed: {reason}",
        notes=(
            "a layer needs, to be differentiated, the values that it was given: nothing may overwrite them in place",
        ),
        help=("in `forward`, write `x = x * 2` for `x *= 2`",),
    ),
    Entry(
        "PD612",
        "the outputs of module `{model}` have no gradient, so that nothing trains its weights",
        label="declared here",
        notes=("outputs lose it through `detach()`, numpy, or `torch.no_grad()` in `forward`",),
        help=("leave these out; a module that is to stay as it is has `requires_grad_(False)`",),
    ),
    Entry(
        "PD613",
        "module `{model}` stays as it is: none of its weights requires a gradient",
        label="declared here",
        severity=Severity.WARNING,
        help=("call `requires_grad_(True)` on what is to be trained",),
    ),
    Entry(
        "PD614",
        "module `{model}` cannot be copied: {reason}",
        label="declared here",
        notes=("a run trains a copy of its own, and hands the weights back at its end",),
    ),
    Entry(
        "PD615",
        "module `{model}` says something else when it is asked again, in evaluation",
        label="declared here",
        severity=Severity.WARNING,
        notes=(
            "it draws random numbers{drawn:.0}",
            "a call changes what it, or an earlier one, says{changed:.0}",
            "predictions, multipliers and metrics are then of one call among many",
        ),
        help=("have `forward` ask `self.training`, as the layers of torch do",),
    ),
    Entry(
        "PD616",
        "what module `{model}` says of a row depends on the rows beside it, in evaluation",
        label="declared here",
        severity=Severity.WARNING,
        notes=("rows are evaluated in batches of any size, so that predictions, multipliers and metrics depend on it",),
        help=("use `BatchNorm` with `track_running_stats`, and reduce over other axes than the first",),
    ),
    Entry(
        "PD617",
        "module `{model}` was trained by an earlier run, and this one starts from its weights",
        label="declared here",
        severity=Severity.WARNING,
        help=("make the module anew, after `torch.manual_seed(...)`, for a run that can be repeated",),
    ),
    Entry(
        "PD618",
        "outputs of module `{model}` have no gradient, so that nothing trains what they are made of: {names}",
        label="declared here",
        severity=Severity.WARNING,
        notes=("outputs lose it through `detach()`, numpy, or `torch.no_grad()` in `forward`",),
    ),
    Entry(
        "PD690",
        "module `{model}` should return {expected}, found {found}",
        label="declared here",
    ),
    Entry(
        "PD691",
        "module `{model}` has no layer `{layer}`",
        label="declared here",
        notes=("its layers are {there}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD692",
        "module `{model}` fails on inputs of shape {shapes}: {reason}",
        label="declared here",
        notes=("arguments are given by position, tensors [batch, *axes], a single real number as [batch, 1]",),
    ),
    Entry(
        "PD710",
        "`{name}` is given from Python, and is no model of the spec",
        notes=("the models are {names}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD750",
        "`{call}` has no option `{name}`",
        notes=("its options are {names}", "`{name}` is an argument of `pdual.load`{of_load:.0}"),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD751",
        "there is no {what} `{name}`",
        notes=("there are {names}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD752",
        "`{name}` should be {expected}, found {found}",
    ),
    Entry(
        "PD753",
        "`{call}` lacks {missing}",
        notes=("it reads {names}",),
    ),
)
