"""numpy's universal functions of encrypted arrays, each implemented by an operator or a method."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from hippocrene.arrays.encrypted import Encrypted
from hippocrene.errors import ShapeError, named
from hippocrene.values.operands import to_array

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


# Functions that are constant between jumps. One table is exact away from the jumps, and several
# tables have errors elsewhere too.
STEPS = (np.ceil, np.floor, np.rint, np.trunc)


def _looked_up(function: np.ufunc) -> Callable[[Any], Any]:
    """Return a function that computes a function of all real numbers by look-up tables."""

    def compute_it(x: Any) -> Any:
        x._refuse_integers(function.__name__)
        with named(function.__name__, "apply"):
            return x.apply(function, look_ups=1 if function in STEPS else None)

    return compute_it


def _shape(x: Any, name: str) -> tuple[int, ...]:
    return np.shape(x if isinstance(x, Encrypted) else to_array(x, name))


def _check_axes(name: str, arrays: tuple[Any, Any], least: tuple[int, int]) -> None:
    """Refuse arrays with fewer axes than `least`."""
    shapes = [_shape(x, name) for x in arrays]
    if any(len(shape) < n for shape, n in zip(shapes, least, strict=True)):
        raise ShapeError(
            f"{name}: shapes {shapes[0]} and {shapes[1]}, of {least[0]} and {least[1]} axes at least"
        )


def _conjugate(x: Any) -> Any:
    """Conjugate complex values. The later product refuses values that are no numbers."""
    return np.conjugate(x) if isinstance(x, Encrypted) or np.iscomplexobj(x) else x


def _vecdot(a: Any, b: Any, axis: int = -1) -> Any:
    _check_axes("vecdot", (a, b), (1, 1))
    with named("vecdot", "numpy.moveaxis", "mul", "multiply"):
        a, b = (np.moveaxis(x, axis, -1) for x in factors("vecdot", a, b))
        if a.shape[-1] != b.shape[-1]:
            raise ShapeError(f"vecdot: vectors of {a.shape[-1]} and {b.shape[-1]} elements")
        return compute(np.multiply, "__call__", (_conjugate(a), b), {}).sum(-1)


def _matvec(a: Any, b: Any) -> Any:
    _check_axes("matvec", (a, b), (2, 1))
    a, b = operands("matvec", a, b)
    return compute(np.matmul, "__call__", (a, np.expand_dims(b, -1)), {})[..., 0]


def _vecmat(a: Any, b: Any) -> Any:
    _check_axes("vecmat", (a, b), (1, 2))
    a, b = operands("vecmat", a, b)
    return compute(np.matmul, "__call__", (np.expand_dims(_conjugate(a), -2), b), {})[..., 0, :]


# Products along axes, which numpy has since version 2.
VECTORS: dict[str, Callable[..., Any]] = {"matvec": _matvec, "vecdot": _vecdot, "vecmat": _vecmat}
# Methods of the first operand, and methods of the second one if only that is encrypted.
BINARY: dict[Any, tuple[str, str]] = {
    np.add: ("__add__", "__radd__"),
    np.subtract: ("__sub__", "__rsub__"),
    np.multiply: ("__mul__", "__rmul__"),
    np.true_divide: ("__truediv__", "__rtruediv__"),
    np.matmul: ("__matmul__", "__rmatmul__"),
    np.power: ("__pow__", ""),
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
UNARY: dict[Any, Callable[[Any], Any]] = {
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.invert: operator.invert,
    np.logical_not: operator.invert,
    np.absolute: operator.abs,
    np.fabs: operator.abs,
    np.square: lambda x: x * x,
    np.conjugate: lambda x: x.conj(),
    np.sign: lambda x: x.sign(),
    np.exp: lambda x: x.exp(),
    np.sqrt: lambda x: x.sqrt(),
    np.tanh: lambda x: x.tanh(),
    **{
        f: _looked_up(f) for f in (np.arctan, np.arcsinh, np.cbrt, np.cos, np.cosh, np.sin, np.sinh)
    },
    **{f: _looked_up(f) for f in (np.ceil, np.exp2, np.expm1, np.floor, np.rint, np.trunc)},
}
# Reductions of bits along axes, with the names of the methods.
BIT_REDUCTIONS = {
    np.bitwise_and: "all",
    np.logical_and: "all",
    np.bitwise_or: "any",
    np.logical_or: "any",
    np.bitwise_xor: "_parity",
    np.logical_xor: "_parity",
}
# Advice by the name of a function that is not supported.
HINTS = {
    **dict.fromkeys(
        ("copyto", "fill", "fill_diagonal", "place", "put", "put_along_axis", "putmask"),
        "results are encrypted arrays of their own: numpy.concatenate and numpy.where make them of parts",
    ),
    **dict.fromkeys(("around", "item", "round", "tolist"), "Client.decrypt first"),
    **dict.fromkeys(
        ("linalg.matrix_norm", "linalg.norm", "linalg.vector_norm"),
        "(x * x).sum() is its square, and of complex numbers (x * x.conj()).real.sum()",
    ),
    **{
        name: f"x.apply(numpy.{name}, domain=(low, high)), where the keys have tables"
        for name in (
            "arccos",
            "arccosh",
            "arcsin",
            "arctanh",
            "log10",
            "log1p",
            "log2",
            "sinc",
            "tan",
        )
    },
    **dict.fromkeys(("deg2rad", "radians"), "x * (numpy.pi / 180) does it"),
    **dict.fromkeys(("degrees", "rad2deg"), "x * (180 / numpy.pi) does it"),
    **dict.fromkeys(
        ("divmod", "floor_divide", "fmod", "mod", "remainder"),
        "x.apply(lambda v: v % m, domain=(low, high)), where the keys have tables",
    ),
    **dict.fromkeys(
        ("linalg.det", "linalg.eigh", "linalg.eig", "linalg.svd"), "Client.decrypt first"
    ),
    **{
        f"nan{name}": f"what is encrypted is no NaN, so that {name} does"
        for name in (
            "cumsum",
            "max",
            "mean",
            "median",
            "min",
            "percentile",
            "prod",
            "quantile",
            "std",
            "sum",
            "var",
        )
    },
    "all": "of conditions that are 0 and 1 it is their product",
    "add.reduceat": "the array is encrypted, and the indices are plain",
    "allclose": "client.decrypt first, or x.is_close(y, tolerance=...) where the keys have tables",
    "any": "of conditions that are 0 and 1 it is 1 less the product of 1 - c",
    "apply_along_axis": "numpy.stack([f(row) for row in x]) does it",
    "array_equal": "== compares encrypted integers and bits, and x.is_close(y, tolerance=...) numbers",
    "corrcoef": "numpy.cov(x) has the covariances: divide by deviations when they are decrypted",
    "cov": "values are encrypted, and weights plain",
    "cumprod": "x[:1], x[:2].prod() and so on are its values",
    **dict.fromkeys(
        ("dtype", "itemsize", "nbytes", "view"),
        "x.plain_modulus says whether integers are encrypted, x.bit_error whether bits, x.is_complex whether complex "
        "numbers, and len(x.to_bytes()) how large a file is",
    ),
    **dict.fromkeys(
        ("argwhere", "flatnonzero", "nonzero", "trim_zeros"),
        "which values are zero is encrypted too: Client.decrypt first",
    ),
    **dict.fromkeys(
        ("flat", "nditer", "ndenumerate"), "x.ravel() has the values one after the other"
    ),
    "apply_over_axes": "functions of several axes take them at once: x.sum(axis=(0, 1), keepdims=True)",
    "diagflat": "numpy.diag(x.ravel()) does it",
    "digitize": "(x > edge) is 0 or 1, approximately, and the sum of that over all edges the place",
    "divide": "divisors are plain; times y.reciprocal(domain=(low, high)) where the keys have tables",
    "fft.irfft": "numpy.fft.ifft takes the whole spectrum, as numpy.fft.fft has it",
    "broadcast_arrays": "operands broadcast, and numpy.broadcast_to(x, shape) does it",
    "empty_like": "numpy.zeros(x.shape) mixes with encrypted arrays",
    "erf": "hippocrene.approximate(scipy.special.erf, domain=(low, high), error=...) is a polynomial",
    "expit": "x.sigmoid(), where the keys have tables, or a polynomial, hippocrene.approximate",
    "float_power": "exponents are integers from 0 on: x ** n",
    "full_like": "numpy.full(x.shape, value) mixes with encrypted arrays",
    "heaviside": "x > 0 is 0 or 1, approximately",
    "histogram": "(x > edge).sum() is a count, approximately, and that of a bin the difference of two; "
    "numpy.bincount(x, minlength=n) counts integers from 0 to n - 1",
    "astype": "types are for Client.decrypt(x, dtype=...) to choose",
    "average": "compute (weights * values).sum() and weights.sum(), and divide when they are decrypted",
    "bincount": "of encrypted labels 0 to n - 1 there are minlength=n bins",
    "choose": "numpy.choose(x, choices) does it",
    "count_nonzero": "the sum of conditions that are 0 and 1, such as x > 0.5, is a count, approximately",
    "insert": "numpy.concatenate puts encrypted values between parts: [x[:2], y, x[2:]]",
    "hypot": "x * x + y * y is its square, and (x * x + y * y).sqrt() it, where the keys have tables",
    "isin": "x.is_close(value, tolerance=...), where the keys have tables, for each of the values; of integers from 0 "
    "on x.entries_of(table) with 1 in the places",
    "isclose": "x.is_close(y, tolerance=...), where the keys have tables",
    "isfinite": "what is encrypted is finite",
    "isnan": "what is encrypted is no NaN",
    "lexsort": "x.argsort() is of one key, where the keys have tables",
    "piecewise": "numpy.where, by conditions that are 0 and 1, or x.apply(function) where the keys have tables",
    "linalg.inv": "matrices are inverted when they are decrypted, or by iterations: y = y @ (2 * eye - x @ y)",
    "linalg.lstsq": "numpy.linalg.pinv(a) @ b is the solution, of a plain matrix",
    "linalg.pinv": "the matrix is plain; encrypted ones are inverted by iterations: y = y @ (2 * eye - x @ y)",
    "linalg.solve": "the matrix is plain; encrypted ones are inverted by iterations: y = y @ (2 * eye - x @ y)",
    "log": "x.log(domain=(low, high)), where the keys have tables",
    "meshgrid": "numpy.broadcast_to, or operands with new axes, x[:, None] and y[None, :], which broadcast",
    "nan_to_num": "what is encrypted is no NaN",
    "ones_like": "numpy.ones(x.shape) mixes with encrypted arrays",
    "power": "exponents are integers from 0 on, one for all values",
    "reciprocal": "x.reciprocal(domain=(low, high)), where the keys have tables",
    "save": "x.save(path) writes it",
    "argpartition": "x.argsort(), where the keys have tables, has all values in their places",
    "partition": "x.sort(), where the keys have tables, has all values in their places",
    "searchsorted": "(value > edge) is 0 or 1, approximately, and the sum of that over all edges the place",
    "unique": "x.sort() has them in order, where the keys have tables",
    "where": "say what to take where the condition holds and where it does not, where(c, x, y)",
    "zeros_like": "numpy.zeros(x.shape) mixes with encrypted arrays",
}
# Advice that differs for encrypted bits.
BIT_HINTS = {
    **dict.fromkeys(
        ("bitwise_count", "sum", "add.reduce"),
        "bits are counted when they are decrypted, or by gates: x ^ y ^ z and server.gates(['majority'], x, y, z) are "
        "the digits of a sum of three",
    ),
    **dict.fromkeys(("packbits", "unpackbits"), "bits are packed when they are decrypted"),
    "argmax": "a bit is the first of those that are 1 where it is and none before it: gates do it one after the other",
    "choose": "c.select(y, x) is y where c is 1 and x where it is 0, and numpy.where(c, y, x) too",
    "count_nonzero": "bits are counted when they are decrypted, or by gates: x ^ y ^ z and "
    "server.gates(['majority'], x, y, z) are the digits of a sum of three",
}
# Advice that differs for encrypted integers.
INTEGER_HINTS = {
    **dict.fromkeys(("fmod", "mod", "remainder"), "x.apply(lambda v: v % m)"),
    **dict.fromkeys(("divmod", "floor_divide"), "x.apply(lambda v: v // m)"),
    "allclose": "== compares encrypted integers",
    "count_nonzero": "(x != 0).sum() is the count",
    "digitize": "integers modulo a number have no order: their places are found when they are decrypted",
    "histogram": "numpy.bincount(x, minlength=n) counts integers from 0 to n - 1",
    "isclose": "== compares encrypted integers",
    "isin": "x == value compares with each of the values, and x.entries_of(table) with those that have a 1 there",
    "searchsorted": "integers modulo a number have no order: their places are found when they are decrypted",
    "unique": "integers modulo a number have no order: they are sorted when they are decrypted",
}
# Advice by the keyword that no function supports.
OPTIONS = {
    "dtype": "encrypted arrays have no other types",
    "out": "results are encrypted arrays of their own, and written into no other",
    "initial": "add it to, or multiply it with, what is returned",
    "where": "multiply by a mask of zeros and ones",
    # A keyword of variances.
    "correction": "it is called ddof=",
    "mean": "it is computed; about another number m a variance is ((x - m) ** 2).mean()",
}
# Advice that differs for encrypted bits.
BIT_OPTIONS = {
    "initial": "it is a gate with what is returned",
    "where": "gates with a mask of booleans do it: x & mask, x | ~mask",
}


def hint(name: str, *arguments: object) -> str | None:
    """Return advice on a function or a method of numpy, or None if there is none."""
    hints = HINTS
    if any(isinstance(x, Encrypted) and x.bit_error is not None for x in arguments):
        hints = HINTS | BIT_HINTS
    elif any(isinstance(x, Encrypted) and x.plain_modulus is not None for x in arguments):
        hints = HINTS | INTEGER_HINTS
    return hints.get(name)


def refusal(name: str, *arguments: object) -> TypeError:
    """Return the error of a function of numpy that does not accept these encrypted arrays."""
    instead = hint(name, *arguments) or "use their operators and methods"
    return TypeError(f"numpy.{name} takes no encrypted arrays like these: {instead}")


def _foreign(ufunc: np.ufunc) -> TypeError:
    """Return the error of a universal function that is not numpy's, such as scipy's."""
    name = ufunc.__name__
    instead = HINTS.get(
        name, "hippocrene.approximate(function, domain=(low, high), error=...) is a polynomial"
    )
    return TypeError(f"{name} takes no encrypted arrays: {instead}")


def check_options(name: str, options: Iterable[str], *, of_bits: bool = False) -> None:
    """Refuse keywords that are not supported."""
    hints = OPTIONS | BIT_OPTIONS if of_bits else OPTIONS
    for option in options:
        if option in hints:
            raise TypeError(
                f"numpy.{name} takes no {option}= for encrypted arrays: {hints[option]}"
            )


def _says(key: str, value: object) -> bool:
    return not (value is None or value is np._NoValue or (key == "where" and value is True))


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords whose values differ from the defaults."""
    return {key: value for key, value in options.items() if _says(key, value)}


def without_options(name: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords without unsupported ones. Refuse unsupported ones that are set."""
    check_options(name, given(keywords))
    return {key: value for key, value in keywords.items() if key not in OPTIONS}


def unset(name: str, dtype: object, out: object, **others: object) -> None:
    """Refuse `dtype`, `out` and others in a method, unless they have their default values.

    numpy and other libraries pass these keywords as None.
    """
    check_options(name, given({"dtype": dtype, "out": out, **others}))


def operands(name: str, *both: Any) -> tuple[Any, ...]:
    """Return plain operands as arrays, with integers of any size beside encrypted integers."""
    like: Any = next(x for x in both if isinstance(x, Encrypted))
    exact = like.plain_modulus is not None
    return tuple(
        x if isinstance(x, Encrypted) else like._plain(x, name) if exact else to_array(x, name)
        for x in both
    )


def factors(name: str, *arrays: Any) -> tuple[Any, ...]:
    """Return factors as `operands` does. A plain array without elements is a `ShapeError`."""
    both = operands(name, *arrays)
    if any(not np.size(one) for one in both):
        raise ShapeError(
            f"{name}: shapes {', '.join(str(np.shape(one)) for one in both)}, one of no elements"
        )
    return both


def compute(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Any:
    """Compute a universal function of encrypted operands, with plain ones among them."""
    name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    first = inputs[0]
    axis = keywords.get("axis", 0)
    options = given({key: value for key, value in keywords.items() if key != "axis"})
    if "out" in options:
        raise TypeError(
            f"numpy.{name} writes no encrypted array into another: `total = total + x` in place of `total += x` makes "
            "a new one, and so does a total that starts from the number 0"
        )
    of_bits = any(isinstance(x, Encrypted) and x.bit_error is not None for x in inputs)
    check_options(name, options, of_bits=of_bits)
    unknown = set() if method == "reduce" else options.keys()
    if unknown:
        raise TypeError(
            f"numpy.{name} takes no {', '.join(f'{key}=' for key in unknown)} for encrypted arrays"
        )
    result: object = NotImplemented
    if method == "__call__" and not options:
        if "axis" in keywords:
            result = _vecdot(first, inputs[-1], axis) if name == "vecdot" else NotImplemented
        elif name in VECTORS:
            result = VECTORS[name](*inputs)
        elif ufunc in UNARY:
            result = UNARY[ufunc](first)
        elif ufunc in BINARY:
            forward, reflected = BINARY[ufunc]
            if isinstance(first, Encrypted):
                result = getattr(first, forward)(inputs[1])
            elif reflected:
                result = getattr(inputs[1], reflected)(first)
    elif method == "reduce" and ufunc in (np.add, np.multiply):
        result = (first.sum if ufunc is np.add else first.prod)(axis, **options)
    elif method == "reduce" and ufunc in BIT_REDUCTIONS and not options.keys() - {"keepdims"}:
        result = getattr(first, BIT_REDUCTIONS[ufunc])(axis, **options)
    elif method == "reduce" and ufunc in (np.maximum, np.minimum):
        result = (first.max if ufunc is np.maximum else first.min)(axis, **options)
    elif method == "outer" and ufunc in BINARY and not options:
        left: Any = first if isinstance(first, Encrypted) else to_array(first, name)
        left = np.reshape(left, left.shape + (1,) * len(_shape(inputs[1], name)))
        result = compute(ufunc, "__call__", (left, inputs[1]), {})
    elif method == "accumulate" and ufunc is np.add and not options:
        result = first.cumsum(axis)
    if result is NotImplemented and method == "__call__" and ufunc in BINARY and name not in HINTS:
        types = " and ".join(type(x).__name__ for x in inputs)
        raise TypeError(
            f"numpy.{name} computes with encrypted arrays, plain arrays and numbers, not with {types}"
        )
    if result is NotImplemented:
        raise (
            refusal(name, *inputs)
            if getattr(np, ufunc.__name__, None) is ufunc
            else _foreign(ufunc)
        )
    return result
