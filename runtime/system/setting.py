"""What a process may have set before it calls pdual: put aside while a problem is solved, and put back as it was."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import RLock

import numpy as np
import torch

#: Solves of one process take turns: threads share the generator, the default type and the number of threads of torch.
_turns = [RLock()]


def _new_turns() -> None:
    _turns[0] = RLock()


if hasattr(os, "register_at_fork"):  # a child has none of the threads that may hold it
    os.register_at_fork(after_in_child=_new_turns)


@contextmanager
def solving() -> Iterator[None]:
    """Gradients, the default type and device of torch as in a new process; afterwards these, generators of random numbers and the number of
    threads are what they were. One thread at a time.
    """
    with _turns[0], _generators(), _threads(), plain():
        yield


@contextmanager
def plain() -> Iterator[None]:
    """Without the modes of torch that change what is computed, or whether it can be followed."""
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        # A device of torch's own is a mode that every call goes through: not entered where none is set.
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        if torch.get_default_dtype() != torch.float32:
            stack.enter_context(_turns[0])
            stack.enter_context(_default_dtype())
        yield


@contextmanager
def _default_dtype() -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _generators() -> Iterator[None]:
    ours, numbers = random.getstate(), np.random.get_state()
    places = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    try:
        with torch.random.fork_rng(devices=list(places)):
            yield
    finally:
        random.setstate(ours)
        np.random.set_state(numbers)
