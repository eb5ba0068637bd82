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
        reason=(
            "A module from Python may change its own tensors in place only if no layer needs them for its gradient; otherwise torch refuses "
            "the backward pass. Changes that a module makes to its arguments do not reach any constraint, because each call gets its own "
            "copy."
        ),
    ),
    Entry(
        "PD612",
        "the outputs of module `{model}` have no gradient, so that nothing trains its weights",
        label="declared here",
        notes=("outputs lose it through `detach()`, numpy, or `torch.no_grad()` in `forward`",),
        help=("leave these out; a module that is to stay as it is has `requires_grad_(False)`",),
        reason=(
            "Weights are trained by the gradient of the module's outputs. Outputs that were detached, or computed in numpy or under "
            "`torch.no_grad()`, have no gradient, so the run would end with the weights that it began with."
        ),
    ),
    Entry(
        "PD613",
        "module `{model}` stays as it is: none of its weights requires a gradient",
        label="declared here",
        severity=Severity.WARNING,
        help=("call `requires_grad_(True)` on what is to be trained",),
        reason=(
            "A module whose parameters all have `requires_grad` false is not trained: it may be a fixed encoder. If that is intended, nothing "
            "needs to change."
        ),
    ),
    Entry(
        "PD614",
        "module `{model}` cannot be copied: {reason}",
        label="declared here",
        notes=("a run trains a copy of its own, and hands the weights back at its end",),
        reason=(
            "A run trains a copy of the module, so that its predictions do not change when the module is trained again. At its end the "
            "trained weights are copied back into the module. A module cannot be copied if it holds something that Python cannot copy (an "
            "open file, a lock), or if it has lazy layers and was never called."
        ),
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
        reason=(
            "In evaluation mode a model has to be a function of its inputs. Dropout that is always active, random noise in `forward`, and "
            "state that a call changes make predictions, multipliers and metrics differ from call to call."
        ),
    ),
    Entry(
        "PD616",
        "what module `{model}` says of a row depends on the rows beside it, in evaluation",
        label="declared here",
        severity=Severity.WARNING,
        notes=("rows are evaluated in batches of any size, so that predictions, multipliers and metrics depend on it",),
        help=("use `BatchNorm` with `track_running_stats`, and reduce over other axes than the first",),
        reason=(
            "The prediction for a row must not depend on the other rows of the batch. Batch normalisation without running statistics, or a "
            "reduction over the first axis, makes it depend on them."
        ),
    ),
    Entry(
        "PD617",
        "module `{model}` was trained by an earlier run, and this one starts from its weights",
        label="declared here",
        severity=Severity.WARNING,
        help=("make the module anew, after `torch.manual_seed(...)`, for a run that can be repeated",),
        reason=(
            "At the end of a run the module from Python holds the trained weights. Another run with the same module starts from them, so its "
            "result differs from that of a fresh module with the same seed."
        ),
    ),
    Entry(
        "PD618",
        "outputs of module `{model}` have no gradient, so that nothing trains what they are made of: {names}",
        label="declared here",
        severity=Severity.WARNING,
        notes=("outputs lose it through `detach()`, numpy, or `torch.no_grad()` in `forward`",),
        reason=(
            "The layers that compute an output are trained by that output's gradient. An output that was detached, or computed in numpy or "
            "under `torch.no_grad()`, has no gradient; a layer that only this output uses keeps its initial weights. If the output is meant "
            "to be fixed, nothing needs to change. If no output of a module has a gradient, the run is refused (PD612)."
        ),
    ),
    Entry(
        "PD690",
        "module `{model}` should return {expected}, found {found}",
        label="declared here",
        reason=(
            "A module from Python is called with its arguments by position, as tensors [batch, *axes]. It returns one tensor of that form. "
            "For a record it returns a mapping by name, or a tuple in the order of the signature."
        ),
    ),
    Entry(
        "PD691",
        "module `{model}` has no layer `{layer}`",
        label="declared here",
        notes=("its layers are {there}",),
        help=("did you mean `{near}`?",),
        reason='`features = "LAYER"` names a layer as `named_modules()` does.',
    ),
    Entry(
        "PD692",
        "module `{model}` fails on inputs of shape {shapes}: {reason}",
        label="declared here",
        notes=("arguments are given by position, tensors [batch, *axes], a single real number as [batch, 1]",),
        reason=(
            "The module raised an error when it was called. Its inputs are those of the signature, by position, as tensors [batch, *axes]; a "
            "single real number is a tensor [batch, 1]."
        ),
    ),
    Entry(
        "PD710",
        "`{name}` is given from Python, and is no model of the spec",
        notes=("the models are {names}",),
        help=("did you mean `{near}`?",),
        reason="`models={NAME: module}` has to name a model of the spec.",
    ),
    Entry(
        "PD750",
        "`{call}` has no option `{name}`",
        notes=("its options are {names}", "`{name}` is an argument of `pdual.load`{of_load:.0}"),
        help=("did you mean `{near}`?",),
        reason=(
            "`solve` takes the options of `pdual run`: `out`, `device`, `precision`, `compile`, `seed`, `threads`, `resume`, `quick`, "
            "`budget` (in seconds), `limit` and `initial`. Arguments that change the problem (parameters, data, models, duals) belong to "
            "`pdual.load`."
        ),
    ),
    Entry(
        "PD751",
        "there is no {what} `{name}`",
        notes=("there are {names}",),
        help=("did you mean `{near}`?",),
        reason="Python uses the names that the spec gives to models, splits and data sets.",
    ),
    Entry(
        "PD752",
        "`{name}` should be {expected}, found {found}",
        reason="An argument has another type, shape or value than the function takes.",
    ),
    Entry(
        "PD753",
        "`{call}` lacks {missing}",
        notes=("it reads {names}",),
        reason="New rows are given by field or argument, with the same number of rows for each, as tensors, arrays or lists of texts.",
    ),
)
