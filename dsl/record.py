"""Frozen, slotted dataclasses that are quick to define.

The standard decorator writes and compiles half a dozen functions for every class and makes the class twice: about a millisecond
each, and the language has over a hundred node classes that every `pdual check` would wait for. These are made once and share generic
methods; a record is a dataclass to `fields`, `replace`, pattern matching and the type checker. A class that a large spec has
thousands of gets an ``__init__`` of its own then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    import dataclasses
    import inspect
    from dataclasses import MISSING, Field, FrozenInstanceError, field

    _OFTEN = 250  # instances from which on a compiled ``__init__`` is worth its milliseconds

    def record(*, frozen: bool, slots: bool) -> Any:
        """A decorator: like ``dataclass(frozen=True, slots=True)``; both have to be written, and to be true."""
        assert frozen
        assert slots
        return _record

    def _record(cls: type) -> type:
        inherited = {}
        for base in reversed(cls.__mro__[1:]):
            inherited |= getattr(base, "__dataclass_fields__", {})
        declared = dict(inherited)
        for name, annotation in inspect.get_annotations(cls).items():
            default = cls.__dict__.get(name, MISSING)
            item = default if isinstance(default, Field) else field(default=default)
            item.name, item.type, item._field_type = name, annotation, dataclasses._FIELD
            item.kw_only = item.kw_only is True
            declared[name] = item
        every = tuple(declared.values())
        positional = tuple(item.name for item in every if not item.kw_only)
        names = frozenset(item.name for item in every)
        defaults = {item.name: item.default for item in every if item.default is not MISSING}
        factories = {item.name: item.default_factory for item in every if item.default_factory is not MISSING}
        compared = tuple(item.name for item in every if item.compare)
        shown = tuple(item.name for item in every if item.repr)
        whole = len(every) if len(positional) == len(every) else -1  # values that need no names and no defaults
        made_of = 0
        put = object.__setattr__

        def __init__(self: Any, *values: Any, **named: Any) -> None:
            nonlocal made_of
            made_of += 1
            if made_of == _OFTEN:
                made.__init__ = _compiled(cls.__qualname__, every)
            if not named and len(values) == whole:
                for name, value in zip(positional, values, strict=True):
                    put(self, name, value)
                return
            if len(values) > len(positional):
                raise TypeError(f"{cls.__name__} takes {len(positional)} positional arguments, found {len(values)}")
            given = dict(zip(positional, values, strict=False))
            if not names.issuperset(named) or not given.keys().isdisjoint(named):
                raise TypeError(f"{cls.__name__} has no argument, or a second value for one, in {sorted(named)}")
            given.update(named)
            for name in names - given.keys():
                if name in factories:
                    given[name] = factories[name]()
                elif name in defaults:
                    given[name] = defaults[name]
                else:
                    raise TypeError(f"{cls.__name__} needs {name}")
            for name, value in given.items():
                put(self, name, value)

        def __eq__(self: Any, other: Any) -> Any:
            if other.__class__ is not self.__class__:
                return NotImplemented
            return self is other or all(getattr(self, name) == getattr(other, name) for name in compared)

        def __hash__(self: Any) -> int:
            return hash((cls.__qualname__, *(getattr(self, name) for name in compared)))

        def __repr__(self: Any) -> str:
            return f"{cls.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

        def __setattr__(self: Any, name: str, value: Any) -> None:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")

        def __delattr__(self: Any, name: str) -> None:
            raise FrozenInstanceError(f"cannot delete field {name!r}")

        def __getstate__(self: Any) -> list[Any]:
            return [getattr(self, item.name) for item in every]

        def __setstate__(self: Any, state: list[Any]) -> None:
            for item, value in zip(every, state, strict=True):
                put(self, item.name, value)

        dropped = {*declared, "__dict__", "__weakref__"}
        content = {name: value for name, value in cls.__dict__.items() if name not in dropped}
        for method in (__init__, __eq__, __hash__, __repr__, __setattr__, __delattr__, __getstate__, __setstate__):
            content.setdefault(method.__name__, method)
        content["__slots__"] = tuple(name for name in declared if name not in inherited)
        content["__dataclass_fields__"] = declared
        content["__match_args__"] = positional
        made = type(cls)(cls.__name__, cls.__bases__, content)
        made.__qualname__ = cls.__qualname__
        return made

    def _compiled(name: str, every: tuple[Any, ...]) -> Any:
        """``__init__`` of a class with these fields, as the standard decorator writes it."""
        again = {
            item.name: field(default=item.default, kw_only=item.kw_only)
            if item.default_factory is MISSING
            else field(default_factory=item.default_factory, kw_only=item.kw_only)
            for item in every
        }
        content = {"__annotations__": {item.name: item.type for item in every}, "__qualname__": name, **again}
        twin = dataclasses.dataclass(frozen=True, repr=False, eq=False, match_args=False)(type(name, (), content))
        return twin.__init__


__all__ = ["record"]
