"""Algorithm 1 of the paper: primal minibatches, one evaluation pass, one dual update, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from pdual.compiler.program import Evaluation
from pdual.dsl.declarations.optimisers import OptimiserSettings
from pdual.dsl.diagnostics import refuse
from pdual.runtime.clock import Clock
from pdual.runtime.duals.build import build_multipliers
from pdual.runtime.duals.multipliers import Multipliers
from pdual.runtime.evaluation import Pass, evaluate
from pdual.runtime.metrics import Measured, split_metrics
from pdual.runtime.nonfinite import diverged
from pdual.runtime.optimisers import Driver, steps_of, trainable
from pdual.runtime.problem import Block, Options, Problem
from pdual.runtime.profile import Profile
from pdual.runtime.progress_log import log_line
from pdual.runtime.records import LogLine, Metrics, MultiplierMetrics, SplitMetrics, Timing
from pdual.runtime.sampling import GroupStream, RowStream, Stream, generator

#: On an accelerator a look at the loss waits for the device, so it is looked at once in so many steps.
LOOK_EVERY = 50
