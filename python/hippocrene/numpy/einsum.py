"""Einstein sums of encrypted and plain arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.arrays.integers import IntegerArray
from hippocrene.arrays.places import places_of
from hippocrene.arrays.registry import implements
from hippocrene.errors import ShapeError, named
from hippocrene.numpy.arguments import factors, is_encrypted
from hippocrene.values.operands import fractions

# A letter, or a negative integer for an axis of the ellipsis, counted from the right: -1, -2, ..
_Label: TypeAlias = str | int


@implements(np.einsum, several=True)
def einsum(subscripts: Any, *operands: Any, optimize: object = False) -> Any:
    """Compute `numpy.einsum` with encrypted and plain operands, for subscripts as text.

    The operands are always multiplied from left to right, and each further operand costs one more
    multiplication. `optimize` is ignored.
    """
    del optimize
    if not isinstance(subscripts, str):
        raise TypeError(
            "numpy.einsum of encrypted arrays takes subscripts as text, such as 'ij,jk->ik'"
        )
    arrays: Sequence[Any] = factors("einsum", *operands)
    terms, output = _parsed(subscripts, [np.shape(x) for x in arrays])
    sizes = _sizes(subscripts, terms, arrays)
    arrays, error = _wide(arrays, terms, output, sizes)
    parts = [_with_axes_once(x, term, sizes) for x, term in zip(arrays, terms, strict=True)]
    array, labels = parts[0]
    with named("einsum", "sum"):
        for i, (other, others) in enumerate(parts[1:], 1):
            later = set(output).union(*(of_part for _, of_part in parts[i + 1 :]))
            array, labels = _product(array, labels, other, others, later)
        array, labels = _summed(array, labels, set(output))
        result = _laid_out(array, labels, output)
        return result._off_by(error) if error else result


def _wide(
    arrays: Sequence[Any],
    terms: Sequence[Sequence[_Label]],
    output: Sequence[_Label],
    sizes: dict[_Label, int],
) -> tuple[Sequence[Any], float]:
    """Apply `widened` to plain operands that are summed or multiplied with each other."""
    # Axes of length 1 are broadcast to longer axes of others, which are summed without them.
    shapes = [np.shape(x) for x in arrays]
    along = [
        [label for label, length in zip(term, shape, strict=True) if length == sizes[label]]
        for term, shape in zip(terms, shapes, strict=True)
    ]
    plain = [term for x, term in zip(arrays, along, strict=True) if not is_encrypted(x)]
    secret = {
        label for x, term in zip(arrays, along, strict=True) if is_encrypted(x) for label in term
    }
    alone = {label for term in plain for label in term} - secret - set(output)
    count, others = (
        math.prod(sizes[label] for label in labels) for labels in (alone, secret - set(output))
    )
    return widened("einsum", arrays, count, others) if alone or len(plain) > 1 else (arrays, 0.0)


def widened(
    operation: str, arrays: Sequence[Any], count: int, others: int
) -> tuple[Sequence[Any], float]:
    """Return the operands, with plain ones precise enough for products, and the error of results.

    - If the encrypted operands are integers, the plain ones become integers of any size.
    - Otherwise they become doubles at least. They become fractions if products with doubles are
      less precise than the requested precision.

    Let ``s`` be the product of all bounds. Rounding causes an error of about ``2**-53 * count * s``
    in the sum of `count` products of doubles with each other. In the result, `others` such sums are
    added up, which multiplies the error by ``sqrt(others)``.
    """
    secret = [x for x in arrays if is_encrypted(x)]
    plain = [x for x in arrays if not is_encrypted(x)]
    if isinstance(secret[0], IntegerArray):
        return [x if is_encrypted(x) else x.astype(object) for x in arrays], 0.0
    kinds = {x.dtype.kind for x in plain}
    exact = not kinds <= set("biufc")
    if not exact and "c" not in kinds:
        size = math.prod(float(np.max(abs(x.astype(np.float64)))) for x in plain)
        exact = any(x._needs_digits(size, operation) for x in secret)
    if exact:
        return [x if is_encrypted(x) else fractions(x, operation) for x in arrays], 0.0
    wide = [x if is_encrypted(x) else x.astype(np.result_type(x, np.float64)) for x in arrays]
    size = math.prod(x.bound if is_encrypted(x) else float(np.max(abs(x))) for x in wide)
    return wide, 2.0**-53 * count * math.sqrt(others) * size


def _parsed(
    subscripts: str, shapes: Sequence[tuple[int, ...]]
) -> tuple[list[list[_Label]], list[_Label]]:
    """Return the labels of the axes of every operand, and those of the result."""
    inputs, arrow, result = subscripts.replace(" ", "").partition("->")
    texts = inputs.split(",")
    if len(texts) != len(shapes):
        raise ShapeError(
            f"einsum: {subscripts!r} is of {len(texts)} operands, there are {len(shapes)}"
        )
    terms: list[list[_Label]] = []
    widest = 0
    for text, shape in zip(texts, shapes, strict=True):
        letters, ellipsis = text.replace("...", "", 1), "..." in text
        free = len(shape) - len(letters)
        if not _are_letters(letters) or free < 0 or (free and not ellipsis):
            raise ShapeError(
                f"einsum: {text!r} in {subscripts!r} does not name the axes of shape {shape}"
            )
        widest = max(widest, free)
        before, _, after = text.partition("...")
        terms.append([*before, *range(-free, 0), *after])
    every = [label for term in terms for label in term]
    if not arrow:
        once = sorted(
            label for label in every if isinstance(label, str) and every.count(label) == 1
        )
        return terms, [*range(-widest, 0), *once]
    before, ellipsis_there, after = result.partition("...")
    if widest and not ellipsis_there:
        raise ShapeError(f"einsum: {result!r} in {subscripts!r} lacks the axes of the ellipsis")
    output: list[_Label] = [*before, *range(-widest, 0), *after]
    letters = before + after
    if (
        not _are_letters(letters)
        or len(set(letters)) < len(letters)
        or not set(letters) <= set(every)
    ):
        raise ShapeError(
            f"einsum: {result!r} in {subscripts!r} does not name axes of the operands, each once"
        )
    return terms, output


def _are_letters(text: str) -> bool:
    return not text or (text.isascii() and text.isalpha())


def _sizes(
    subscripts: str, terms: Sequence[Sequence[_Label]], arrays: Sequence[Any]
) -> dict[_Label, int]:
    """Return the length of the axis of every label.

    An axis of length 1 is compatible with any length in another operand.
    """
    sizes: dict[_Label, int] = {}
    for term, array in zip(terms, arrays, strict=True):
        own: dict[_Label, int] = {}
        for label, length in zip(term, np.shape(array), strict=True):
            known, here = sizes.get(label, 1), own.setdefault(label, length)
            if here != length or (1 not in (known, length) and known != length):
                known = known if here == length else here
                name = label if isinstance(label, str) else "..."
                raise ShapeError(
                    f"einsum: {name!r} in {subscripts!r} is of lengths {known} and {length}"
                )
            sizes[label] = length if known == 1 else known
    return sizes


def _with_axes_once(
    x: Any, term: Sequence[_Label], sizes: dict[_Label, int]
) -> tuple[Any, list[_Label]]:
    """Return an operand that has each label at most once, and its labels.

    Diagonals are taken of repeated labels. Axes of length 1 are removed if other operands have
    longer ones.
    """
    short = [i for i, label in enumerate(term) if np.shape(x)[i] == 1 < sizes[label]]
    kept = [label for i, label in enumerate(term) if i not in short]
    labels = list(dict.fromkeys(kept))
    if len(labels) == len(term):
        return x, labels
    numbers = {label: i for i, label in enumerate(labels)}
    ids = [numbers[label] for label in kept]
    places = (places_of(x) if is_encrypted(x) else x).squeeze(tuple(short))
    return _moved(x, np.einsum(places, ids, list(range(len(labels))))), labels


def _moved(x: Any, places: Any) -> Any:
    """Return the elements of an encrypted array at these places.

    For a plain array, `places` already holds the elements.
    """
    return x._gather(places) if is_encrypted(x) else places


def _laid_out(x: Any, labels: Sequence[_Label], order: Sequence[_Label]) -> Any:
    """Put the axes in this order, with axes of length 1 for missing labels."""
    if list(labels) == list(order):
        return x
    places = places_of(x) if is_encrypted(x) else x
    places = places.transpose([labels.index(label) for label in order if label in labels])
    return _moved(
        x,
        places.reshape(
            [np.shape(x)[labels.index(label)] if label in labels else 1 for label in order]
        ),
    )


def _summed(x: Any, labels: Sequence[_Label], kept: set[_Label]) -> tuple[Any, list[_Label]]:
    """Sum along the axes of all labels that are not kept."""
    axes = tuple(i for i, label in enumerate(labels) if label not in kept)
    return _array(x.sum(axis=axes)) if axes else x, [label for label in labels if label in kept]


def _array(x: Any) -> Any:
    """Return a result of numpy as an array.

    For an array of objects without axes, numpy returns the object itself.
    """
    return (
        x
        if isinstance(x, EncryptedArray | np.ndarray | np.generic)
        else np.asarray(x, dtype=object)
    )


def _product(
    a: Any, of_a: Sequence[_Label], b: Any, of_b: Sequence[_Label], later: set[_Label]
) -> tuple[Any, list[_Label]]:
    """Multiply two arrays, and sum along the axes that are not needed later.

    A product of matrices is computed as such.
    """
    a, of_a = _summed(a, of_a, later | set(of_b))
    b, of_b = _summed(b, of_b, later | set(of_a))
    common = [label for label in of_a if label in of_b]
    left = [label for label in of_a if label not in of_b]
    right = [label for label in of_b if label not in of_a]
    # Encrypted numbers are multiplied by matrices of doubles. Fractions need products one by one.
    fractional = any(not is_encrypted(x) and x.dtype.kind == "O" for x in (a, b)) and not any(
        isinstance(x, IntegerArray) for x in (a, b)
    )
    if (
        len(common) == 1
        and common[0] not in later
        and max(len(left), len(right)) <= 1
        and not fractional
    ):
        if right and not left:
            return np.matmul(_laid_out(b, of_b, right + common), a), right
        product = np.matmul(_laid_out(a, of_a, left + common), _laid_out(b, of_b, common + right))
        return _array(product), left + right
    order = [*left, *right, *common]
    summed = [label for label in common if label not in later]
    a, b = _laid_out(a, of_a, order), _laid_out(b, of_b, order)
    if summed and not (is_encrypted(a) and is_encrypted(b)):
        a, b = (x._in_place("einsum") if is_encrypted(x) else x for x in (a, b))
    product = np.multiply(a, b)
    return _summed(_array(product), order, later)
