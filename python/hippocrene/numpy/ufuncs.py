"""numpy's universal functions of encrypted arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from hippocrene.arrays.advice import hint, refusal
from hippocrene.arrays.registry import implements, implements_each
from hippocrene.errors import ShapeError, named
from hippocrene.numpy.arguments import factors, is_encrypted, operands
from hippocrene.values.operands import to_array

# Methods of the first operand, and methods of the second one if only that is encrypted.
BINARY: dict[Any, tuple[str, str]] = {
    np.add: ("__add__", "__radd__"),
    np.subtract: ("__sub__", "__rsub__"),
    np.multiply: ("__mul__", "__rmul__"),
    np.true_divide: ("__truediv__", "__rtruediv__"),
    np.matmul: ("__matmul__", "__rmatmul__"),
    np.power: ("__pow__", "__rpow__"),
    np.maximum: ("maximum", "maximum"),
    np.minimum: ("minimum", "minimum"),
    np.greater: ("__gt__", "__lt__"),
    np.greater_equal: ("__ge__", "__le__"),
    np.less: ("__lt__", "__gt__"),
    np.less_equal: ("__le__", "__ge__"),
    np.equal: ("__eq__", "__eq__"),
    np.not_equal: ("__ne__", "__ne__"),
    np.bitwise_and: ("__and__", "__rand__"),
    np.bitwise_or: ("__or__", "__ror__"),
    np.bitwise_xor: ("__xor__", "__rxor__"),
    np.logical_and: ("__and__", "__rand__"),
    np.logical_or: ("__or__", "__ror__"),
    np.logical_xor: ("__xor__", "__rxor__"),
}
# Methods and operators of one operand.
UNARY = {
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.invert: operator.invert,
    np.logical_not: operator.invert,
    np.absolute: operator.abs,
    np.fabs: operator.abs,
    np.conjugate: "conj",
    np.sign: "sign",
    np.exp: "exp",
    np.log: "log",
    np.reciprocal: "reciprocal",
    np.sqrt: "sqrt",
    np.tanh: "tanh",
}
# Methods that reduce axes.
REDUCTIONS = {
    np.add.reduce: "sum",
    np.multiply.reduce: "prod",
    np.maximum.reduce: "max",
    np.minimum.reduce: "min",
    np.bitwise_and.reduce: "all",
    np.logical_and.reduce: "all",
    np.bitwise_or.reduce: "any",
    np.logical_or.reduce: "any",
    np.bitwise_xor.reduce: "_parity",
    np.logical_xor.reduce: "_parity",
}
# Functions of all real numbers without a method of their own.
APPLIED = (
    *(np.ceil, np.floor, np.rint, np.trunc),
    *(np.arctan, np.arcsinh, np.cbrt, np.cos, np.cosh, np.exp2, np.expm1, np.sin, np.sinh),
)


@implements_each(*BINARY, several=True)
def operator_of(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    """Use an operator or a method of two operands."""
    name, (forward, reflected) = ufunc.__name__, BINARY[ufunc]

    def compute(x: Any, y: Any) -> Any:
        result: Any = NotImplemented
        if is_encrypted(x):
            result = getattr(x, forward)(y)
        elif reflected:
            result = getattr(y, reflected)(x)
        if result is not NotImplemented:
            return result
        if hint(name, x, y):
            raise refusal(name, x, y)
        raise TypeError(
            f"numpy.{name} computes with encrypted arrays, plain arrays and numbers, not with "
            f"{type(x).__name__} and {type(y).__name__}"
        )

    return compute


@implements_each(*(ufunc.outer for ufunc in BINARY), several=True)
def outer_of(method: Any) -> Callable[[Any, Any], Any]:
    """Compute an operator of all pairs of elements."""
    ufunc = method.__self__

    def compute(x: Any, y: Any) -> Any:
        x, y = (
            one if is_encrypted(one) else to_array(one, f"{ufunc.__name__}.outer") for one in (x, y)
        )
        return ufunc(np.reshape(x, x.shape + (1,) * y.ndim), y)

    return compute


@implements_each(*APPLIED)
def applied(function: np.ufunc) -> Callable[[Any], Any]:
    """Apply a function of all real numbers."""

    def compute(x: Any) -> Any:
        x._need_numbers(function.__name__)
        with named(function.__name__, "apply"):
            return x.apply(function)

    return compute


@implements_each(*REDUCTIONS)
def reduction(method: Any) -> Callable[..., Any]:
    """Use a method along axes, by default along the first one."""

    def compute(a: Any, axis: Any = 0, *, keepdims: bool = False) -> Any:
        return getattr(a, REDUCTIONS[method])(axis, keepdims=keepdims)

    return compute


for _ufunc, _method in UNARY.items():
    implements(_ufunc)(_method)


@implements(np.square)
def _square(x: Any) -> Any:
    return x * x


@implements(np.add.accumulate)
def _accumulate(a: Any, axis: Any = 0) -> Any:
    return a.cumsum(axis)


# Products along axes, which numpy has since version 2.


def _check_axes(name: str, arrays: tuple[Any, Any], least: tuple[int, int]) -> None:
    """Refuse arrays with fewer axes than `least`."""
    shapes = [np.shape(x if is_encrypted(x) else to_array(x, name)) for x in arrays]
    if any(len(shape) < n for shape, n in zip(shapes, least, strict=True)):
        raise ShapeError(
            f"{name}: shapes {shapes[0]} and {shapes[1]}, of {least[0]} and {least[1]} axes at least"
        )


def _conjugate(x: Any) -> Any:
    """Conjugate complex values. The later product refuses values that are no numbers."""
    return np.conjugate(x) if is_encrypted(x) or np.iscomplexobj(x) else x


@implements("vecdot", "linalg.vecdot", several=True)
def _vecdot(a: Any, b: Any, axis: int = -1) -> Any:
    _check_axes("vecdot", (a, b), (1, 1))
    with named("vecdot", "numpy.moveaxis", "mul", "multiply"):
        a, b = (np.moveaxis(x, axis, -1) for x in factors("vecdot", a, b))
        if a.shape[-1] != b.shape[-1]:
            raise ShapeError(
                f"vecdot: the vectors in shapes {a.shape} and {b.shape} have {a.shape[-1]} and "
                f"{b.shape[-1]} elements. They need equally many."
            )
        return np.multiply(_conjugate(a), b).sum(-1)


@implements("matvec", several=True)
def _matvec(a: Any, b: Any) -> Any:
    _check_axes("matvec", (a, b), (2, 1))
    a, b = operands("matvec", a, b)
    return np.matmul(a, np.expand_dims(b, -1))[..., 0]


@implements("vecmat", several=True)
def _vecmat(a: Any, b: Any) -> Any:
    _check_axes("vecmat", (a, b), (1, 2))
    a, b = operands("vecmat", a, b)
    return np.matmul(np.expand_dims(_conjugate(a), -2), b)[..., 0, :]
