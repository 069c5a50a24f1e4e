"""Errors of numpy's functions with encrypted arrays."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import scipy.sparse
import scipy.special

from hippocrene import ArgumentError, EncodeError, MissingKeyError, ShapeError

V = np.array([0.5, -1.25, 2.0])
M = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [1.0, 1.25, 0.5], [-0.5, 0.75, 1.0]])
T = np.arange(24.0).reshape(2, 3, 4) / 16 - 0.5


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (lambda x: np.tan(x), r"numpy\.tan takes no encrypted arrays: use x\.apply"),
        (lambda x: np.around(x), r"numpy\.around .*Client\.decrypt first"),
        (lambda x: np.arcsin(x), r"x\.apply\(numpy\.arcsin"),
        (lambda x: np.linalg.vector_norm(x), r"numpy\.linalg\.vector_norm .*is its square"),
        (lambda x: np.floor_divide(x, 2), r"x\.apply\(lambda v: v // m"),
        (lambda x: x // 2, r"x\.apply\(lambda v: v // m, domain="),
        (lambda x: 2 % x, r"x\.apply\(lambda v: v % m, domain="),
        (lambda x: divmod(x, 2), r"x\.apply\(lambda v: v // m, domain="),
        (lambda x: np.var(x, where=M > 0), "multiply by a mask"),
        (lambda x: x.var(where=M > 0), "multiply by a mask"),
        (lambda x: np.empty_like(x), r"numpy\.zeros\(x\.shape\)"),
        (lambda x: scipy.special.hyp0f1(1, x), r"^hyp0f1 takes no encrypted arrays: .*x\.apply"),
        (
            lambda x: x.polynomial(np.exp),
            r"polynomial takes coefficients: hippocrene\.approximate\(function",
        ),
        (
            lambda x: np.add(x, None),
            r"numpy\.add computes with .* not with NumberArray and NoneType",
        ),
        (lambda x: np.add("a", x), r"not with str and NumberArray"),
        (lambda x: np.divide(1, x), r"^div: the divisor lies in \[-?\d"),
        (lambda x: np.ones(3) / x, r"an interval on one side of 0 is needed\. Declare one with"),
        (lambda x: 1 / x, r", multiply by x\.reciprocal\(domain="),
        (lambda x: x / x, r"or take a smaller margin of spec_like"),
        (lambda x: x**-1, r"pow: the divisor lies in .*x\.reciprocal\(domain="),
        (lambda x: x ** [1j, 2, 3], "pow: exponents are plain, real and finite$"),
        (lambda x: np.power(x, x), r"For x above 0, x \*\* y is \(y \* x\.log\(\)\)\.exp\(\)"),
        (lambda x: np.corrcoef(x), r"numpy\.corrcoef .*numpy\.cov"),
        (
            lambda x: np.histogram([1], weights=x[:1], density=True),
            "no density= for encrypted weights",
        ),
        (lambda x: np.histogram(x), r"numpy\.histogram .*\(x > edge\)\.sum\(\)"),
        (lambda x: np.digitize(x, [0, 1]), r"numpy\.digitize .*\(x > edge\)"),
        (lambda x: np.diagflat(x), r"numpy\.diag\(x\.ravel\(\)\)"),
        (lambda x: np.argwhere(x), "which values are zero is encrypted too"),
        (lambda x: x.polynomial([1, 2j]), r"real coefficients.*1j \* x\.polynomial\(c\.imag\)"),
        (lambda x: x.polynomial(np.poly1d([1j, 2])), "real coefficients"),
        (lambda x: x.polynomial(np.polynomial.Chebyshev([1j, 2])), "real coefficients"),
        (lambda x: np.insert(x, 0, x[0]), r"numpy\.insert .*numpy\.concatenate"),
        (lambda x: np.sum([x, x]), r"numpy\.stack\(\[x, y\]\) instead of lists"),
        (
            lambda x: x @ scipy.sparse.eye(3, format="csr"),
            r"\.toarray\(\) to replace masked or sparse",
        ),
        (lambda x: np.nansum(x), r"numpy\.nansum .*never NaN: use numpy\.sum"),
        (lambda x: np.zeros_like(x), r"numpy\.zeros_like .*numpy\.zeros\(x\.shape\)"),
        (lambda x: np.hypot.outer(x, x), r"numpy\.hypot\.outer takes no encrypted arrays"),
        (lambda x: np.add(x, 1, where=[True, False, True]), r"numpy\.add takes no where= .* mask"),
        (lambda x: np.add(x, 1, dtype=float), r"numpy\.add takes no dtype="),
        (lambda x: np.sum(x, dtype=float), r"numpy\.sum takes no dtype="),
        (lambda x: np.mean(x, out=np.zeros(())), r"numpy\.mean takes no out="),
        (lambda x: np.max(x, initial=2), r"numpy\.max takes no initial="),
        (lambda x: np.var(x, where=V > 0), r"numpy\.var takes no where="),
        (lambda x: np.sum(x, 0, float), r"numpy\.sum takes no dtype="),
        (
            lambda x: np.sum(x, 0, None, None, True),
            r"numpy\.sum of encrypted arrays: too many positional",
        ),
        (
            lambda x: np.cov(x, aweights=x),
            r"numpy\.cov takes no encrypted arrays like these: .*weights plain",
        ),
        (
            lambda x: np.cov(V, aweights=x),
            r"numpy\.cov takes no encrypted arrays like these: .*weights plain",
        ),
        (lambda x: np.cov(x, fweights=[1, 0.5, 1]), "cov: fweights are integers"),
        (lambda x: np.gradient(x, x), r"numpy\.gradient takes no encrypted distances"),
        (lambda x: np.gradient(x, 1, 2), "gradient: 2 distances for 1 axes"),
        (lambda x: np.argmax(x, axis=(0, 1)), "an axis is an integer, not tuple"),
        (lambda x: np.where(x), r"numpy\.where .*where\(c, x, y\)"),
        (
            lambda x: np.linalg.norm(x),
            r"numpy\.linalg\.norm takes no encrypted arrays.*\(x \* x\)\.sum\(\)",
        ),
        (lambda x: np.fft.rfft2(x), r"numpy\.fft\.rfft2 takes no encrypted arrays"),
        (lambda x: np.einsum(x, [0], [0]), "takes subscripts as text"),
        (lambda x: np.einsum("i,i", x, x, dtype=float), r"numpy\.einsum takes no dtype="),
        (
            lambda x: np.average(V, weights=x),
            r"numpy\.average .*\(weights \* values\)\.sum\(\) and weights\.sum\(\)",
        ),
        (lambda x: np.polyval(x, 2.0), "no encrypted coefficients"),
        (lambda x: x.polynomial(x), "cannot become a plain one"),
        (
            lambda x: np.convolve(x, [[1, 2]]),
            r"arrays of one axis, not of shapes \(3,\) and \(1, 2\)",
        ),
        (lambda x: np.insert(V, 0, x), r"numpy\.insert takes no encrypted arrays"),
        (lambda x: np.pad(x, 1, mode="mean"), "not mean"),
        (lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"), "even"),
        (lambda x: np.atleast_1d(x, V), r"numpy\.atleast_1d takes no encrypted arrays"),
        (lambda x: pow(x, 3, 7), "pow takes no modulus"),
        (lambda x: x @ None, "unsupported operand"),
        (
            lambda x: x.var(axis=0, mean=0.5),
            r"numpy\.var takes no mean= .* number m is \(\(x - m\)",
        ),
        (lambda x: np.var(x, axis=0, mean=x.mean()), r"numpy\.var takes no mean= "),
        (lambda x: x.std(correction=1), r"numpy\.std takes no correction= .* ddof="),
        (lambda x: np.var(x, correction=1), r"numpy\.var takes no correction= .* ddof="),
        (
            lambda x: x.var(masks=V > 0),
            r"^NumberArray\.var\(\) got an unexpected keyword argument 'masks'",
        ),
        (
            lambda x: x.sum(0, None, None, True),
            r"^ArithmeticArray\.sum\(\) takes from 1 to 4 positional arguments",
        ),
        (lambda x: x.max(initial=2), r"^NumberArray\.max\(\) got an unexpected"),
        (
            lambda x: operator.setitem(x, 0, 1),
            r"never change: make a new one with numpy\.where\(mask, values, x\).*numpy\.concatenate",
        ),
        (lambda x: operator.delitem(x, 0), r"never change: make a new one with numpy\.delete"),
        (lambda x: np.diff(V, append=x[:1]), r"numpy\.diff takes no encrypted arrays like these"),
        (
            lambda x: np.fft.irfft(x),
            r"numpy\.fft\.irfft .*numpy\.fft\.ifft with the whole spectrum",
        ),
        (lambda x: np.full_like(x, 2.0), r"numpy\.full_like .*numpy\.full\(x\.shape, value\)"),
        (
            lambda x: np.fill_diagonal(x, 0),
            r"numpy\.fill_diagonal .*numpy\.concatenate or numpy\.where",
        ),
        (lambda x: np.put(x, [0], [1]), r"numpy\.put .*numpy\.concatenate or numpy\.where"),
        (lambda x: np.place(x, V > 0, [1]), r"numpy\.place .*numpy\.concatenate or numpy\.where"),
        (
            lambda x: np.putmask(x, V > 0, [1]),
            r"numpy\.putmask .*numpy\.concatenate or numpy\.where",
        ),
        (lambda x: np.nanvar(x), r"numpy\.nanvar .*never NaN: use numpy\.var"),
        (lambda x: np.nancumsum(x), r"numpy\.nancumsum .*never NaN: use numpy\.cumsum"),
        (lambda x: np.searchsorted(V, x), r"numpy\.searchsorted .*\(value > edge\)"),
        (
            lambda x: np.linalg.solve(x, x),
            r"like these: the matrix must be plain\. Approximate the inverse",
        ),
        (lambda x: float(x.sum()), r"cannot become a plain number: only Client\.decrypt"),
        (lambda x: int(x[0]), r"cannot become a plain number: only Client\.decrypt"),
        (lambda x: round(x[0], 2), r"cannot be rounded: use Client\.decrypt first"),
        (lambda x: f"{x[0]:.3f}", r"no digits to format as '\.3f': use Client\.decrypt first"),
    ],
)
def test_what_is_refused_says_why(secret, compute, message):
    with pytest.raises(TypeError, match=message):
        compute(secret(V))


def test_arguments_that_make_no_sense(secret):
    with pytest.raises(EncodeError, match=r"mul: a number of this size, 2\*\*1024 or more"):
        secret(V) * 10**400
    with pytest.raises(ArgumentError, match="pow: there are 65 different exponents, and 1 to 64"):
        secret(V[:1]) ** np.arange(65)
    with pytest.raises(ArgumentError, match=r"diff: .* not -1"):
        np.diff(secret(V), -1)
    with pytest.raises(ArgumentError, match="ddof=3"):
        secret(V).var(ddof=3)
    # With too little capacity for a polynomial after the variance.
    x = secret(V)
    while x.capacity_bits > 190:
        x = x * 0.999
    with pytest.raises(MissingKeyError, match=r"std: .* decrypt the variance, which needs no root"):
        x.std()
    with pytest.raises(ShapeError, match="broadcast_to"):
        np.broadcast_to(secret(V), (3, 2))
    with pytest.raises(ShapeError, match="vdot"):
        np.vdot(secret(V), secret(M))
    with pytest.raises(ShapeError, match="tensordot"):
        np.tensordot(secret(V), M, 1)
    with pytest.raises(ShapeError, match=r"tensordot: there is no axis 1 in shape \(3,\)"):
        np.tensordot(secret(M), V, ([1], [1]))
    with pytest.raises(ShapeError, match=r"tensordot: there is no axis -2 in shape \(3,\)"):
        np.tensordot(secret(V), V, 2)
    with pytest.raises(ShapeError, match=r"tensordot: there is no axis -3 in shape \(4, 3\)"):
        np.tensordot(secret(M), V, ([-3], [0]))
    with pytest.raises(
        ShapeError, match=r"tensordot: axes \[1, -1\] name one axis of shape \(4, 3\) twice"
    ):
        np.tensordot(secret(M), np.ones((3, 3)), ([1, -1], [0, 1]))
    with pytest.raises(ShapeError, match="average"):
        np.average(secret(M), axis=0, weights=[1, 2])
    with pytest.raises(ShapeError, match="cov"):
        np.cov(secret(T))
    with pytest.raises(ArgumentError, match="cov: 3 values, less ddof=3"):
        np.cov(secret(V), ddof=3)
    with pytest.raises(ArgumentError, match="cov: weights that sum to 1, less 1, leave nothing"):
        np.cov(secret(V), fweights=[0, 1, 0])
    with pytest.raises(ArgumentError, match="cov: aweights are numbers from 0 on"):
        np.cov(secret(V), aweights=[0, 1, -1])
    with pytest.raises(ShapeError, match=r"cov: aweights of shape \(2,\) for 3 observations"):
        np.cov(secret(V), aweights=[0, 1])
    with pytest.raises(ShapeError, match="diff: 3 times along an axis of length 3"):
        np.diff(secret(V), 3)
    with pytest.raises(ZeroDivisionError, match="average"):
        np.average(secret(V), weights=[1, -1, 0])
    with pytest.raises(
        ShapeError, match=r"sum: initial= is one number, not an array of shape \(2,\)"
    ):
        secret(V).sum(initial=[1.0, 2.0])
    with pytest.raises(
        ShapeError, match=r"prod: initial= is one number, not an array of shape \(1,\)"
    ):
        np.prod(secret(V), initial=(5.0,))
    if hasattr(np, "vecdot"):
        for one in ([2.0], secret([2.0])):
            with pytest.raises(
                ShapeError, match=r"vecdot: .* shapes \(3,\) and \(1,\) have 3 and 1 elements"
            ):
                np.vecdot(secret(V), one)


def test_what_is_no_axis_and_no_order_is_said_to_be_none(secret):
    axes, one = np.array([0, 1]), secret(0.5)
    for compute in (
        lambda: one.sum(axis=axes),
        lambda: one.cumsum(axes),
        lambda: np.add.accumulate(one, False),
        lambda: secret(V).sum(axis=True),
        lambda: secret(V).mean(axis=np.bool_(True)),
    ):
        with pytest.raises(
            TypeError, match=r"^(sum|mean|cumsum): an axis is an integer, not (ndarray|bool)"
        ):
            compute()
    for compute in (lambda: secret(V).ravel(axes), lambda: secret(M).reshape(2, 6, order=axes)):
        with pytest.raises(ArgumentError, match=r"order is array\(\[0, 1\]\)"):
            compute()
