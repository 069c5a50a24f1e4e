"""Advice about functions, methods and keywords of numpy that encrypted arrays lack."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hippocrene.errors import UnsupportedError

# Formulas of a quotient and a remainder, by the operator.
REMAINDERS = {"//": "v // m", "%": "v % m", "divmod": "v // m"}

# Advice on methods and properties that are elsewhere here, or that other libraries have.
ELSEWHERE = {
    "bootstrap": "use server.bootstrap(x). With keys from evaluation_keys(bootstrapping=True), operations also "
    "bootstrap by themselves",
    **dict.fromkeys(("decrypt", "numpy", "to_numpy", "values"), "use client.decrypt(x)"),
    "encrypt": "it is encrypted already. Use server.load(x) to compute with it",
    **dict.fromkeys(("rot", "rotate", "rotate_rows", "rotate_vector"), "use x.roll(shift)"),
    **dict.fromkeys(
        ("mod_switch", "mod_switch_to_next", "relinearize", "rescale", "rescale_to_next"),
        "operations do this by themselves",
    ),
    **dict.fromkeys(
        ("capacity", "level", "levels", "noise", "scale"), "use x.capacity_bits or x.precision_bits"
    ),
    "noise_budget": "use x.budget_bits, or client.noise_budget(x) to measure it",
    **{
        name: f"use x {sign} y"
        for name, sign in {
            "add": "+",
            "sub": "-",
            "mul": "*",
            "multiply": "*",
            "matmul": "@",
        }.items()
    },
    "square": "use x * x",
    **dict.fromkeys(
        ("columns", "iloc", "index", "loc"),
        "rows and columns have no names, so index as in numpy: x[:, 0]",
    ),
}

# Advice on plain arrays by the library that asks for one, and otherwise.
INSTEAD_OF_PLAIN = {
    "sklearn": "Instead of model.predict(x), compute x @ model.coef_.T + model.intercept_ for a linear model, and "
    "(x - scaler.mean_) / scaler.scale_ for a StandardScaler. For trees, use hippocrene.trees.",
    "pandas": "A data frame holds plain values, so decrypt first. Use numpy.dot(a, x) if a pandas object refuses "
    "a @ x, and numpy.bincount(group * p + x, minlength=...) instead of crosstab and groupby.",
    "": "Use numpy.stack([x, y]) instead of lists of arrays, x.polynomial(p) instead of p(x), x.entries_of(table) "
    "instead of table[x], and .filled() or .toarray() to replace masked or sparse operands.",
}

# Advice by the name of a function that is not supported.
HINTS = {
    **dict.fromkeys(
        ("copyto", "fill", "fill_diagonal", "place", "put", "put_along_axis", "putmask"),
        "encrypted arrays never change: make a new one with numpy.concatenate or numpy.where",
    ),
    **dict.fromkeys(("around", "item", "round", "tolist"), "use Client.decrypt first"),
    **dict.fromkeys(
        ("linalg.matrix_norm", "linalg.norm", "linalg.vector_norm"),
        "(x * x).sum() is its square, and for complex numbers (x * x.conj()).real.sum()",
    ),
    **{
        name: f"use x.apply(numpy.{name}, domain=(low, high))"
        for name in (
            *("arccos", "arccosh", "arcsin", "arctanh"),
            *("log10", "log1p", "log2", "sinc", "tan"),
        )
    },
    **dict.fromkeys(("deg2rad", "radians"), "use x * (numpy.pi / 180)"),
    **dict.fromkeys(("degrees", "rad2deg"), "use x * (180 / numpy.pi)"),
    **{
        name: f"use x.apply(lambda v: {formula}, domain=(low, high))"
        for names, formula in (
            (("divmod", "floor_divide"), "v // m"),
            (("fmod", "mod", "remainder"), "v % m"),
        )
        for name in names
    },
    **dict.fromkeys(
        ("linalg.det", "linalg.eigh", "linalg.eig", "linalg.svd"), "use Client.decrypt first"
    ),
    **{
        f"nan{name}": f"encrypted values are never NaN: use numpy.{name}"
        for name in (
            *("cumsum", "max", "mean", "median", "min", "percentile"),
            *("prod", "quantile", "std", "sum", "var"),
        )
    },
    "all": "use x.prod() for conditions that are 0 or 1",
    "add.reduceat": "the array must be encrypted, and the indices plain",
    "allclose": "use Client.decrypt first, or x.is_close(y, tolerance=...)",
    "any": "use 1 - (1 - x).prod() for conditions that are 0 or 1",
    "apply_along_axis": "use numpy.stack([f(row) for row in x])",
    "array_equal": "use == for integers and bits, and x.is_close(y, tolerance=...) for numbers",
    "corrcoef": "numpy.cov(x) computes covariances: divide by the deviations after decryption",
    "cov": "the values must be encrypted, and the weights plain",
    "cumprod": "compute its values one by one: x[:1], x[:2].prod() and so on",
    **dict.fromkeys(
        ("dtype", "itemsize", "nbytes", "view"),
        "use x.plain_modulus to recognise integers, x.bit_error for bits, x.is_complex for complex "
        "numbers, and len(x.to_bytes()) for the size of a file",
    ),
    **dict.fromkeys(
        ("argwhere", "flatnonzero", "nonzero", "trim_zeros"),
        "which values are zero is encrypted too: use Client.decrypt first",
    ),
    **dict.fromkeys(
        ("flat", "nditer", "ndenumerate"), "use x.ravel(), with the values one after the other"
    ),
    "apply_over_axes": "use a function of several axes, such as x.sum(axis=(0, 1), keepdims=True)",
    "diagflat": "use numpy.diag(x.ravel())",
    "digitize": "add up (x > edge), which is approximately 0 or 1, over all edges",
    "fft.irfft": "use numpy.fft.ifft with the whole spectrum, as numpy.fft.fft returns it",
    "broadcast_arrays": "operators broadcast by themselves, and numpy.broadcast_to(x, shape) one array",
    "empty_like": "use numpy.zeros(x.shape), which computes with encrypted arrays",
    "float_power": "use x ** power",
    "full_like": "use numpy.full(x.shape, value), which computes with encrypted arrays",
    "heaviside": "use x > 0, which is approximately 0 or 1",
    "histogram": "(x > edge).sum() is approximately the number of values above an edge, and a bin is the difference "
    "of two such numbers. numpy.bincount(x, minlength=n) counts integers from 0 to n - 1",
    "astype": "choose the type when you decrypt, with Client.decrypt(x, dtype=...)",
    "average": "compute (weights * values).sum() and weights.sum(), and divide after decryption",
    "bincount": "encrypted labels are integers from 0 to n - 1, and need minlength=n",
    "choose": "use numpy.choose(x, choices)",
    "count_nonzero": "use the sum of conditions that are 0 or 1: (x > 0.5).sum() is approximately a count",
    "insert": "use numpy.concatenate([x[:2], y, x[2:]])",
    "hypot": "x * x + y * y is its square: use (x * x + y * y).sqrt()",
    "isin": "use x.is_close(value, tolerance=...) for each value. For integers from 0 on, use "
    "x.entries_of(table) with a table that is 1 at these values",
    "isclose": "use x.is_close(y, tolerance=...)",
    "isfinite": "encrypted values are always finite",
    "isnan": "encrypted values are never NaN",
    "lexsort": "x.argsort() sorts by one array",
    "piecewise": "use numpy.where with conditions that are 0 or 1, or x.apply(function)",
    "linalg.inv": "invert after decryption, or approximate the inverse by repeating y = y @ (2 * eye - x @ y)",
    "linalg.lstsq": "for a plain matrix a, the solution is numpy.linalg.pinv(a) @ b",
    **dict.fromkeys(
        ("linalg.pinv", "linalg.solve"),
        "the matrix must be plain. Approximate the inverse of an encrypted one by repeating "
        "y = y @ (2 * eye - x @ y)",
    ),
    "meshgrid": "use numpy.broadcast_to, or operands with new axes, as in x[:, None] + y[None, :]",
    "nan_to_num": "encrypted values are never NaN",
    "ones_like": "use numpy.ones(x.shape), which computes with encrypted arrays",
    "power": "the base or the exponent is plain, as in 2 ** x or x ** 3. For x above 0, x ** y is "
    "(y * x.log()).exp()",
    "save": "use x.save(path)",
    "argpartition": "use x.argsort(), which sorts all values",
    "partition": "use x.sort(), which sorts all values",
    "searchsorted": "add up (value > edge), which is approximately 0 or 1, over all edges",
    "unique": "how many values differ is encrypted too: use Client.decrypt first, or numpy.bincount for integers "
    "from 0 to n - 1",
    "where": "pass both choices, as in numpy.where(c, x, y)",
    "zeros_like": "use numpy.zeros(x.shape), which computes with encrypted arrays",
}
# How to count bits.
_COUNT_BITS = (
    "count bits after decryption, or add three bits by gates: x ^ y ^ z is the last digit of their sum, and "
    "server.gates(['majority'], x, y, z) the first"
)
# Advice that differs for encrypted bits.
BIT_HINTS = {
    **dict.fromkeys(("bitwise_count", "count_nonzero", "sum", "add.reduce"), _COUNT_BITS),
    **dict.fromkeys(("packbits", "unpackbits"), "pack bits after decryption"),
    "argmax": "use gates: a bit is the first 1 if it is 1 and no bit before it is",
    "choose": "use c.select(y, x) or numpy.where(c, y, x), which are y where c is 1 and x where it is 0",
}
# Advice for encrypted integers, whose order is unknown.
_NO_ORDER = "integers modulo a number have no order"
# Advice that differs for encrypted integers.
INTEGER_HINTS = {
    "power": "exponents are plain integers from 0 on",
    **dict.fromkeys(("fmod", "mod", "remainder"), "use x.apply(lambda v: v % m)"),
    **dict.fromkeys(("divmod", "floor_divide"), "use x.apply(lambda v: v // m)"),
    **dict.fromkeys(("allclose", "isclose"), "use ==, which compares encrypted integers"),
    "count_nonzero": "use (x != 0).sum()",
    **dict.fromkeys(
        ("digitize", "searchsorted"), f"{_NO_ORDER}: find their places after decryption"
    ),
    "histogram": "use numpy.bincount(x, minlength=n) for integers from 0 to n - 1",
    "isin": "use x == value for each value, or x.entries_of(table) with a table that is 1 at these values",
    "unique": f"{_NO_ORDER}: sort them after decryption",
}
# Advice by the keyword that no function supports.
OPTIONS = {
    "dtype": "choose the type when you decrypt, with Client.decrypt(x, dtype=...)",
    "out": "encrypted arrays never change, and every result is a new one",
    "initial": "add it to the result, or multiply the result by it",
    "where": "multiply by a mask of zeros and ones",
    # A keyword of variances.
    "correction": "use ddof=",
    "mean": "the mean is computed. The variance about another number m is ((x - m) ** 2).mean()",
}
# Advice that differs for encrypted bits.
BIT_OPTIONS = {
    "initial": "use a gate of it and the result",
    "where": "use gates with a mask of booleans: x & mask or x | ~mask",
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
    "tables=True": "docs/how-to/apply-functions.md",
    "hippocrene.approximate": "docs/how-to/apply-functions.md",
    "gates": "docs/how-to/bits.md",
}
PAGE_OF_ALL_FUNCTIONS = "docs/reference/numpy.md"


def refusal(name: str, *arguments: object, never: bool = False) -> UnsupportedError:
    """Return the error of a function of numpy that does not accept these encrypted arrays.

    With `never`, the function accepts no encrypted arrays at all.
    """
    instead = hint(name, *arguments) or "use their operators and methods"
    page = next((page for words, page in PAGES.items() if words in instead), PAGE_OF_ALL_FUNCTIONS)
    these = "" if never else " like these"
    return UnsupportedError(f"numpy.{name} takes no encrypted arrays{these}: {instead} ({page})")


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


def refuse_options(name: str, dtype: object, out: object, **others: object) -> None:
    """Refuse `dtype`, `out` and others in a method, unless they have their default values.

    numpy and other libraries pass these keywords as None.
    """
    check_options(name, given({"dtype": dtype, "out": out, **others}))
