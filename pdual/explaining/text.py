"""Pieces of a spec as text: what the author wrote, on one line; normal forms; numbers, settings and types."""

from __future__ import annotations

import re

from pdual.dsl.declarations.references import (
    ArchitectureUse,
    FieldName,
    GivenField,
    GivenReference,
    OptimiserUse,
    Settings,
)
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.parts import PartShape
from pdual.dsl.spans import Source, Span

_COMMENT = re.compile(r"#[^\r\n]*")
_SPACE = re.compile(r"\s+")
_OPENERS, _CLOSERS = "([{", ")]}"


def written(source: Source, span: Span) -> str:
    """The text of a span on one line, without comments; brackets that the span cuts off are taken in."""
    span = _balanced(source.text, span)
    # A text may hold a `#`, which starts no comment.
    pieces = re.split(r'("(?:[^"\\\r\n]|\\.)*")', source.text[span.start : span.end])
    plain = "".join(piece if odd % 2 else _COMMENT.sub("", piece) for odd, piece in enumerate(pieces))
    return _SPACE.sub(" ", plain).strip()


def _balanced(text: str, span: Span) -> Span:
    """The span with the partners of its brackets that stand right outside it: of ``s > 0) == y``, the opening one."""
    start, end, open_inside, missing = span.start, span.end, 0, 0
    for letter in text[start:end]:
        open_inside += letter in _OPENERS
        if letter in _CLOSERS:
            missing += open_inside == 0
            open_inside -= open_inside > 0
    for _ in range(missing):
        before = text[:start].rstrip()
        if before[-1:] not in ("(", "[", "{"):
            break
        start = len(before) - 1
    for _ in range(open_inside):
        after = text[end:].lstrip()
        if after[:1] not in (")", "]", "}"):
            break
        end = len(text) - len(after) + 1
    return Span(start, end)


def normal_form(operands: tuple[str, ...], shape: PartShape) -> str:
    """``left - right <= 0``, or ``== 0``, of one part."""
    left, right = (_component(operands[place], shape.component) for place in (shape.left, shape.right))
    relation = "==" if shape.equality else "<="
    if right in ("0", "0.0"):
        return f"{left} {relation} 0"
    return f"{_guarded(left, ' if ')} - {_guarded(right, ' if ', ' + ', ' - ')} {relation} 0"


def _component(operand: str, component: str) -> str:
    return operand if not component or operand in ("0", "0.0") else f"{component}({operand})"


def _guarded(operand: str, *operators: str) -> str:
    """In parentheses where one of the operators stands outside all brackets, or a sign in front."""
    loose = _outside_brackets(operand)
    needs = any(operator in loose for operator in operators) or (" - " in operators and loose.startswith("-"))
    return f"({operand})" if needs else operand


def _outside_brackets(operand: str) -> str:
    depth, kept = 0, []
    for letter in operand:
        depth -= letter in _CLOSERS
        kept.append(letter if depth == 0 else ".")
        depth += letter in _OPENERS
    return "".join(kept)


def number(value: float) -> str:
    """A number to four significant digits; whole ones whole."""
    whole = abs(value) < 1e15 and value == int(value)
    return str(int(value)) if whole else f"{value:.4g}"


def exact(value: float) -> str:
    """A number as one would write it in a spec."""
    return f"{value:.10g}"


def bounds(low: float | None, high: float | None) -> str:
    """A declared range as a spec writes it: ``[0, inf]``."""
    ends = (infinite if end is None else number(end) for end, infinite in ((low, "-inf"), (high, "inf")))
    return f"[{', '.join(ends)}]"


def between(low: float | None, high: float | None) -> str:
    """``0.94 .. 1.06``; one number where both are the same."""
    ends = [infinite if end is None else number(end) for end, infinite in ((low, "-inf"), (high, "inf"))]
    return ends[0] if ends[0] == ends[1] else " .. ".join(ends)


def size(count: int) -> str:
    """Bytes for people: ``9.9 MB``."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def duration(seconds: float) -> str:
    """Seconds for people: ``4.2 ms``, ``13.4 s``, ``12 min``, ``3.1 h``."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    for unit, length in (("s", 60), ("min", 60)):
        if seconds < 100:
            return f"{seconds:.3g} {unit}"
        seconds /= length
    return f"{seconds:.3g} h"


def use(name: str, settings: Settings) -> str:
    """``mlp(hidden = [128, 128])``: a registered name with the settings that were written."""
    fields = [field for field in type(settings).model_fields if field in settings.model_fields_set]
    return f"{name}({', '.join(f'{field} = {setting(getattr(settings, field))}' for field in fields)})"


def setting(value: object) -> str:
    """The value of a setting, as a spec would write it."""
    match value:
        case ArchitectureUse(architecture=name, settings=settings) | OptimiserUse(optimiser=name, settings=settings):
            return use(name, settings)
        case Settings():
            name = type(value).__name__.removesuffix("Settings")
            return use(name.lower(), value)
        case GivenReference(given=name) | GivenField(field=name) | FieldName(name=name):
            return name
        case bool():
            return str(value).lower()
        case float() | int():
            return f"{value:g}" if isinstance(value, float) else str(value)
        case str():
            return f'"{value}"'
        case list() | tuple():
            return f"[{', '.join(setting(item) for item in value)}]"
    return str(value)


def signature(model: str, signature: Signature) -> str:
    """``dispatch(load: complex[bus]) -> { v: complex[bus], s: complex[gen] }``."""
    inputs = ", ".join(f"{name}: {kind}" for name, kind in signature.inputs)
    outputs = [_output(item) for item in signature.outputs]
    unnamed = len(outputs) == 1 and not signature.outputs[0].name
    return f"{model}({inputs}) -> {outputs[0] if unnamed else '{ ' + ', '.join(outputs) + ' }'}"


def _output(output: Output) -> str:
    declared = "" if output.low is None and output.high is None else f" in {bounds(output.low, output.high)}"
    return f"{output.name}: {output.type}{declared}" if output.name else f"{output.type}{declared}"
