"""Chat templates: programs that come with a tokenizer. They run in a sandbox that transformers makes; here they are held to a length."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: Llama's templates print a date; a prompt that changed from day to day would be another one.
TODAY = "26 Jul 2024"

#: Lines of a template that are run for one prompt at most, and the characters that it may write beside the prompt's.
LINES = 200_000
LONGEST = 1_000_000

#: What jinja calls the program of a template.
_TEMPLATE = "<template>"


class TemplateError(Exception):
    """A template failed, or does not come to an end."""


def rendered(tokenizer: Any, prompt: str) -> str:
    """The text of one turn of a user, after which the answer stands. Raises TemplateError."""
    turn = [{"role": "user", "content": prompt}]
    try:
        with _bounded():
            text = tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True, date_string=TODAY)
    except TemplateError:
        raise
    except Exception as error:  # a template raises what it likes
        line = str(error).strip().splitlines()
        raise TemplateError(line[0][:200] if line else type(error).__name__) from None
    if not isinstance(text, str) or len(text) > LONGEST + len(prompt):
        raise TemplateError(f"it writes more than {LONGEST:,} characters")
    return text


@contextmanager
def _bounded() -> Iterator[None]:
    """Count the lines of a template that are run: a loop without an end is none then."""
    left = LINES
    before = sys.gettrace()

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TemplateError(f"it does not end within {LINES:,} lines")
        return line

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        return line(frame, event, argument) if frame.f_code.co_filename == _TEMPLATE else None

    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(before)
