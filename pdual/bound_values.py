"""One column from Python as an array of numbers, truth values or texts, with every value as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, TypeAlias

from pdual.dsl import typed
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.types import ArrayType, Kind, MemberOf

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]

#: Whole numbers up to here are floating-point numbers, too.
_EXACT = 2**53


def array_of(values: Any, column: str, data: typed.TypedData) -> Array:
    """The values of a column, [rows, *axes]. Raises PD590 with the row of what is missing or of another type or shape."""
    import numpy as np

    _refuse_nulls(values, column, data)
    plain = plain_of(values)
    _refuse_coarse(values, plain, column, data)
    if isinstance(plain, np.ndarray) and plain.ndim and plain.dtype != object:
        return _checked(plain, column, data)
    if (
        isinstance(plain, str | bytes | Mapping | Set)
        or not hasattr(plain, "__iter__")
        or getattr(plain, "ndim", 1) == 0
    ):
        raise _unlike(data, f"`{column}` as an array", type(values).__name__)
    return _of_list(list(plain), column, data)


def plain_of(values: Any) -> Any:
    """Values as numpy takes them: of a tensor, a series or a chunked column."""
    import numpy as np

    if isinstance(values, np.ndarray | np.generic | str | bytes | int | float | list | tuple) or values is None:
        return values
    if hasattr(values, "detach"):
        return _of_tensor(values)
    for method in ("to_numpy", "numpy"):
        if callable(getattr(values, method, None)):
            return getattr(values, method)()
    return np.asarray(values) if hasattr(values, "__array__") else values


def _of_tensor(tensor: Any) -> Array:
    """A tensor of any layout and type; numpy has no eight- and sixteen-bit types of a short fraction, and 32 bits hold them exactly."""
    import torch

    found = tensor.detach()
    if found.layout is not torch.strided:
        found = found.to_dense()
    if found.is_quantized:
        found = found.dequantize()
    found = found.cpu().resolve_conj().resolve_neg()
    if found.dtype == torch.complex32:
        found = found.to(torch.complex64)
    elif found.is_floating_point() and found.dtype not in (torch.float16, torch.float32, torch.float64):
        found = found.float()
    array: Array = found.numpy()
    return array


def _refuse_nulls(values: Any, column: str, data: typed.TypedData) -> None:
    """What a frame or a table says is missing; a number that is not one in a plain array is for its range to refuse."""
    import numpy as np

    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        absent = np.asarray(mask.reshape(len(mask), -1).any(1) if mask.ndim else mask)
    elif hasattr(values, "isna") and hasattr(values, "to_numpy"):  # pandas
        absent = np.asarray(values.isna())
    elif hasattr(values, "null_count"):  # pyarrow, polars
        count = values.null_count
        if not (count() if callable(count) else count):
            return
        absent = np.array([value is None for value in (getattr(values, "to_pylist", None) or values.to_list)()])
    else:
        return
    if absent.any():
        raise _absent(int(np.argmax(absent)), "none", column, data)


def _refuse_coarse(values: Any, plain: Any, column: str, data: typed.TypedData) -> None:
    """Whole numbers of a type of few digits, of which none is held that is much larger: others have become them."""
    exact = _exact_in(getattr(values, "dtype", None))
    if exact is None or not any(_is_whole(item, column) for item in data.fields):
        return
    import numpy as np

    numbers = np.abs(np.asarray(plain, np.float64))
    if (numbers > exact).any():
        row = int(np.argmax((numbers > exact).reshape(len(numbers), -1).any(1)))
        raise _unlike(
            data, f"`{column}` as whole numbers", f"one above {exact} in row {row}, which `{values.dtype}` rounds"
        )


def _exact_in(dtype: Any) -> int | None:
    """Up to where every whole number is one of a floating-point type that numpy does not have; None for other types."""
    name = str(dtype)
    if name.startswith("torch.") and ("bfloat" in name or "float8" in name):
        import torch

        return round(2 / torch.finfo(dtype).eps) - 1
    if getattr(dtype, "kind", None) == "V" and "float" in name:
        import ml_dtypes

        return round(2 / float(ml_dtypes.finfo(dtype).eps)) - 1  # type: ignore[no-untyped-call]
    return None


def _is_whole(item: typed.TypedField, column: str) -> bool:
    """Whether a field that is read from this column, or from its entries, is an id, a whole number or a member of a set."""
    name = item.column or item.name
    whole = isinstance(item.type, ArrayType) and (
        item.type.element in (Kind.ID, Kind.INT) or isinstance(item.type.element, MemberOf)
    )
    return whole and (column == name or column.startswith(f"{name}."))


def _checked(array: Array, column: str, data: typed.TypedData) -> Array:
    import numpy as np

    if array.dtype.kind == "V" and array.dtype.names is None and "float" in array.dtype.name:  # of `ml_dtypes`
        array = array.astype(np.float32)
    if array.dtype.kind not in "biufcU":
        raise _unlike(data, _KINDS.format(column), f"`{array.dtype}` in row 0")
    return array


_KINDS = "`{}` as numbers, truth values or texts"


def _of_list(values: list[Any], column: str, data: typed.TypedData) -> Array:
    import numpy as np

    kinds = set(map(type, values))
    if not kinds <= {int, float, bool, str}:
        values = [plain_of(value) for value in values]
        for row, value in enumerate(values):
            if _is_missing(value):
                raise _absent(row, str(value), column, data)
    if any(issubclass(kind, str) for kind in kinds):
        return _of_texts(values, column, data)
    try:
        array = np.array(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise _uneven(values, column, data, error) from None
    if array.dtype == object or array.dtype.kind not in "biufcU":
        raise _odd(values, column, data)
    if array.dtype.kind == "U":  # arrays of texts
        for row, value in enumerate(values):
            for leaf in _leaves(value):
                if not isinstance(leaf, str):
                    raise _unlike(data, f"`{column}` of one type", f"texts, and {_told(leaf)} in row {row}")
                _refuse_end(leaf, row, column, data)
    if array.dtype.kind == "f" and bool((abs(array) >= _EXACT).any()):
        _refuse_rounded(values, column, data)
    return _checked(array, column, data)


def _of_texts(values: Sequence[Any], column: str, data: typed.TypedData) -> Array:
    import numpy as np

    for row, value in enumerate(values):
        if not isinstance(value, str):
            if isinstance(value, float) and value != value:
                raise _absent(row, str(value), column, data)
            raise _unlike(data, f"`{column}` of one type", f"texts, and {_told(value)} in row {row}")
        _refuse_end(value, row, column, data)
    return np.array(values, dtype=str)


def _refuse_end(text: str, row: int, column: str, data: typed.TypedData) -> None:
    if text.endswith("\0"):  # an array of texts drops it
        raise _unlike(data, f"`{column}` as texts", f"one that ends with a zero character in row {row}")


def _refuse_rounded(values: Sequence[Any], column: str, data: typed.TypedData) -> None:
    """Whole numbers that became others beside numbers with a fraction."""
    for row, value in enumerate(values):
        for leaf in _leaves(value):
            if isinstance(leaf, int) and not isinstance(leaf, bool) and int(float(leaf)) != leaf:
                raise _unlike(data, f"`{column}` of one type", f"{leaf} in row {row}, beside numbers with a fraction")


def _odd(values: Sequence[Any], column: str, data: typed.TypedData) -> Refusal:
    """The first row that is no number, and no array of them."""
    import numpy as np

    for row, value in enumerate(values):
        for leaf in _leaves(value):
            if _is_missing(leaf):
                return _absent(row, str(leaf), column, data)
            if np.asarray(leaf).dtype.kind not in "biufcU":
                return _unlike(data, _KINDS.format(column), f"{_told(leaf)} in row {row}")
    return _uneven(values, column, data, None)


def _uneven(values: Sequence[Any], column: str, data: typed.TypedData, error: Exception | None) -> Refusal:
    """The first row of another shape than row 0."""
    first = _shape(values[0])
    for row, value in enumerate(values):
        if any(_is_missing(leaf) for leaf in _leaves(value)):
            return _absent(row, "None", column, data)
        if _shape(value) != first:
            found = f"{_words(first)} in row 0 and {_words(_shape(value))} in row {row}"
            return _unlike(data, f"`{column}` as an array of one shape a row", found)
    reason = str(error).splitlines()[0] if error is not None else "values of several types"
    return _unlike(data, f"`{column}` as an array of one type and one shape a row", reason)


def _words(shape: tuple[int, ...] | None) -> str:
    return "rows of several lengths" if shape is None else "one number" if shape == () else f"shape {list(shape)}"


def _shape(value: Any) -> tuple[int, ...] | None:
    import numpy as np

    try:
        return tuple(np.shape(value))
    except ValueError:
        return None


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple) or (hasattr(value, "tolist") and getattr(value, "ndim", False)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value.item() if hasattr(value, "item") else value


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _told(value: Any) -> str:
    return f"`{value}`" if isinstance(value, int | float | bool) else f"a {type(value).__name__}"


def _absent(row: int, found: str, column: str, data: typed.TypedData) -> Refusal:
    return _unlike(data, f"a value of `{column}` in every row", f"{found} in row {row}")


def _unlike(data: typed.TypedData, expected: str, found: str) -> Refusal:
    return refuse("PD590", data.span, data=data.name, expected=expected, found=found)
