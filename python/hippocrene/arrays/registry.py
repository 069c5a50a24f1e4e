"""The registry of numpy's functions of encrypted arrays.

The modules of `hippocrene.numpy` fill it when they are imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from hippocrene.arrays.advice import check_options, given, holds, refusal

_F = TypeVar("_F")


@dataclass(frozen=True)
class Implementation:
    """A function that computes a function of numpy.

    - `function`: the function, or the name of a method of the first argument.
    - `several`: True if any argument may be encrypted. Otherwise this is the first one only.
    - `options`: the supported keywords among those that are usually refused.
    """

    function: Callable[..., Any] | str
    several: bool
    options: frozenset[str]

    def __call__(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Compute the function, which errors call `name`."""
        kwargs = given(kwargs)
        check_options(name, kwargs.keys() - self.options, *args)
        if not self.several:
            # numpy would use places of encrypted elements as values of the other arguments.
            others = (*args[1:], *kwargs.values())
            if not args or not holds(args[0]) or any(holds(x) for x in others):
                raise refusal(name, *args, *kwargs.values())
        function = self.function
        if isinstance(function, str):
            function, args = getattr(args[0], function), args[1:]
        try:
            return function(*args, **kwargs)
        except TypeError:
            # Tell arguments that do not fit from other errors.
            try:
                inspect.signature(function).bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"numpy.{name} of encrypted arrays: {error}") from None
            raise


# The implementations of numpy's functions, of its universal functions, and of their methods.
FUNCTIONS: dict[Any, Implementation] = {}


def implements(
    *functions: Any, several: bool = False, options: tuple[str, ...] = ()
) -> Callable[[_F], _F]:
    """Register a function, or the name of a method, as the implementation of numpy's functions.

    A function that only some versions of numpy have is given by its name.
    """

    def register(implementation: Any) -> Any:
        for found in _existing(functions):
            FUNCTIONS[found] = Implementation(implementation, several, frozenset(options))
        return implementation

    return register


def implements_each(*functions: Any, several: bool = False) -> Callable[[_F], _F]:
    """Register the implementation that is made for each of numpy's functions."""

    def register(make: Any) -> Any:
        for found in _existing(functions):
            implements(found, several=several)(make(found))
        return make

    return register


def _existing(functions: Iterable[Any]) -> Iterator[Any]:
    for function in functions:
        found: Any = np if isinstance(function, str) else function
        for name in function.split(".") if found is np else ():
            found = getattr(found, name, None)
        if found is not None:
            yield found


def name_of(function: Any) -> str:
    """Return the name of a function of numpy, such as "linalg.solve"."""
    module, name = function.__module__, function.__name__
    return str(name if module == "numpy" else f"{module}.{name}".removeprefix("numpy."))


def first_by_place(
    function: Callable[..., Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """Return the first argument, given by its name, as a positional one, and the other keywords."""
    try:
        name = next(iter(inspect.signature(function).parameters))
    except ValueError:
        # For functions in C, numpy knows no signature.
        return (), kwargs
    others = {key: value for key, value in kwargs.items() if key != name}
    return ((kwargs[name],) if name in kwargs else ()), others
