"""Advice about functions, methods and keywords of numpy that encrypted arrays lack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hippocrene.errors import UnsupportedError

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
            *("arccos", "arccosh", "arcsin", "arctanh"),
            *("log10", "log1p", "log2", "sinc", "tan"),
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
            *("cumsum", "max", "mean", "median", "min", "percentile"),
            *("prod", "quantile", "std", "sum", "var"),
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


def holds(value: object) -> str:
    """Return the kind of elements of an encrypted array, or "" for any other value."""
    return str(getattr(value, "_holds", ""))


def hint(name: str, *arguments: object) -> str | None:
    """Return advice on a function or a method of numpy, or None if there is none."""
    kinds = {holds(argument) for argument in arguments}
    if any("bits" in kind for kind in kinds) and name in BIT_HINTS:
        return BIT_HINTS[name]
    if "integers" in kinds and name in INTEGER_HINTS:
        return INTEGER_HINTS[name]
    return HINTS.get(name)


# The pages of the documentation about pieces of advice, and the page about all functions.
PAGES = {
    "keys have tables": "docs/how-to/apply-functions.md",
    "hippocrene.approximate": "docs/how-to/apply-functions.md",
    "gates": "docs/how-to/bits.md",
}
PAGE_OF_ALL_FUNCTIONS = "docs/reference/numpy.md"


def refusal(name: str, *arguments: object) -> UnsupportedError:
    """Return the error of a function of numpy that does not accept these encrypted arrays."""
    instead = hint(name, *arguments) or "use their operators and methods"
    page = next((page for words, page in PAGES.items() if words in instead), PAGE_OF_ALL_FUNCTIONS)
    return UnsupportedError(
        f"numpy.{name} takes no encrypted arrays like these: {instead} ({page})"
    )


def check_options(name: str, options: Iterable[str], *arguments: object) -> None:
    """Refuse keywords that are not supported."""
    for option in options:
        of_bits = any("bits" in holds(argument) for argument in arguments)
        instead = (of_bits and BIT_OPTIONS.get(option)) or OPTIONS.get(option)
        if instead:
            raise TypeError(f"numpy.{name} takes no {option}= for encrypted arrays: {instead}")


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keywords whose values differ from the defaults.

    An axis of None stays, because it means all axes.
    """
    return {
        key: value
        for key, value in options.items()
        if key == "axis"
        or not (value is None or value is np._NoValue or (key == "where" and value is True))
    }


def unset(name: str, dtype: object, out: object, **others: object) -> None:
    """Refuse `dtype`, `out` and others in a method, unless they have their default values.

    numpy and other libraries pass these keywords as None.
    """
    check_options(name, given({"dtype": dtype, "out": out, **others}))
