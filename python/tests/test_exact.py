"""Numbers of more precision than doubles have."""

from __future__ import annotations

import functools
import operator
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hippocrene
from hippocrene import ArgumentError, EncodeError
from hippocrene.values.operands import exact, from_parts, numbers

few = settings(
    max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
BITS = 100
SEVENTHS = [Decimal(k) / Decimal(7) for k in range(-3, 4)]


def value_of(number) -> Fraction:
    """Return the number that `exact` says it is."""
    if isinstance(number, str):
        return Fraction(number)
    mantissa, exponent = number
    return Fraction(mantissa) * Fraction(2) ** exponent


def error(got, want) -> float:
    """Return log2 of the largest error."""
    pairs = zip(
        np.asarray(got, dtype=object).flat, np.asarray(want, dtype=object).flat, strict=True
    )
    return max(float(abs(mpmath.mpf(g) - mpmath.mpf(w))) for g, w in pairs)


@pytest.fixture(scope="module")
def precise():
    client = hippocrene.Client.generate("n14", precision=BITS)
    return client, hippocrene.Server(client.evaluation_keys(conjugation=True))


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workprec(400):
        yield


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**30), 10**30))
def test_numbers_are_taken_as_they_are(number, integer):
    assert value_of(exact(number, "test")) == Fraction(number)
    assert value_of(exact(np.float64(number), "test")) == Fraction(number)
    assert value_of(exact(np.longdouble(number), "test")) == Fraction(number)
    assert value_of(exact(integer, "test")) == integer
    assert value_of(exact(mpmath.mpf(number), "test")) == Fraction(number)
    assert value_of(exact(Decimal(f"{integer}e-40"), "test")) == Fraction(integer, 10**40)
    off = value_of(exact(Fraction(integer, 10**40 + 1), "test")) - Fraction(integer, 10**40 + 1)
    assert abs(off) <= abs(Fraction(integer, 10**40 + 1)) / 2**498


def test_long_doubles_survive_the_way_there_and_back():
    number = np.longdouble(1) / np.longdouble(3)
    assert from_parts([exact(number, "test")], (), np.longdouble, 60)[()] == number
    third = from_parts([exact(mpmath.mpf(1) / 3, "test")], (1,), np.longdouble, 60)
    assert third.dtype == np.longdouble
    assert third[0] == number
    assert from_parts([(0, 0), (-3, 5)], (2,), Decimal, 4).tolist() == [Decimal(0), Decimal(-96)]


@pytest.mark.parametrize(
    "values",
    [
        SEVENTHS,
        [str(x) for x in SEVENTHS],
        [mpmath.mpf(str(x), prec=400) for x in SEVENTHS],
        np.array(SEVENTHS, dtype=object).reshape(7, 1),
        np.array([str(x) for x in SEVENTHS]),
    ],
    ids=["Decimal", "text", "mpf", "object array", "text array"],
)
def test_a_hundred_bits_and_more_come_back(precise, values):
    client, server = precise
    encrypted = server.load(client.encrypt(values))
    assert encrypted.shape == np.shape(values)
    assert encrypted.precision_bits > BITS
    want = np.array([mpmath.mpf(str(x)) for x in SEVENTHS], dtype=object)
    for kind in (Decimal, mpmath.mpf):
        got = client.decrypt(encrypted, dtype=kind)
        assert isinstance(got.flat[0], kind)
        assert got.shape == encrypted.shape
        assert error([str(x) for x in got.flat], want) < 2.0 ** -(BITS - 3)
    square = client.decrypt(encrypted * encrypted, dtype=mpmath.mpf)
    assert error(square, [x * x for x in want]) < 2.0 ** -(BITS - 3)
    np.testing.assert_allclose(
        client.decrypt(encrypted).ravel(), [float(x) for x in SEVENTHS], atol=1e-15
    )


FLOATS = [np.float64, np.float32, np.float16, np.longdouble, float]
COMPLEX = [complex, np.complex128, np.complex64]


@pytest.mark.parametrize("kind", FLOATS + COMPLEX)
def test_decryption_rounds_to_every_float_of_numpy(precise, kind):
    client, _ = precise
    values = np.array([[1 / 3, -2.5, 1e-9], [0.0, 4.0, np.pi]])
    encrypted = client.encrypt(values)
    for named in (kind, np.dtype(kind), np.dtype(kind).name, np.dtype(kind).newbyteorder()):
        got = client.decrypt(encrypted, dtype=named)
        assert got.dtype == np.dtype(named)
        assert got.shape == values.shape
        np.testing.assert_allclose(
            got, values.astype(kind), rtol=float(np.finfo(got.dtype).eps), atol=1e-14
        )
    turned = client.encrypt(values * 1j, precision=20)
    if kind in COMPLEX:
        got = client.decrypt(turned, dtype=kind)
        assert got.dtype == np.dtype(kind)
        np.testing.assert_allclose(got, values * 1j, rtol=1e-6, atol=1e-4)
    else:
        with pytest.raises(TypeError, match="is complex"):
            client.decrypt(turned, dtype=kind)


@pytest.mark.parametrize(
    "kind",
    [
        *(
            int,
            bool,
            str,
            bytes,
            list,
            tuple,
            dict,
            object,
            np.int64,
            np.bool_,
            np.str_,
            np.dtype(np.uint8),
        ),
        *(
            "int64",
            "S4",
            "nonsense",
            "(2,",
            "i4,,",
            7,
            max,
            np.array,
            np.ldexp,
            np.ndarray,
            np.clongdouble,
            np.ones(2),
        ),
        Fraction,
    ],
)
def test_what_numbers_are_not_decrypted_to_is_refused(client, kind):
    with pytest.raises(TypeError, match=r"decrypt gives float, .* not "):
        client.decrypt(client.encrypt([1.0]), dtype=kind)


def test_functions_of_one_pair_make_any_type(precise):
    client, _ = precise

    class Pair:
        def __init__(self, pair: tuple[int, int]) -> None:
            self.value = Fraction(pair[0]) * Fraction(2) ** pair[1]

    encrypted = client.encrypt([0.75, -3.0])
    for kind in (Pair, functools.partial(Pair), lambda pair: Pair(pair)):
        got = client.decrypt(encrypted, dtype=kind)
        assert [float(one.value) for one in got] == pytest.approx([0.75, -3.0], abs=1e-25)


def test_long_doubles_are_encrypted_with_all_their_bits(precise):
    client, _ = precise
    values = np.arange(6, dtype=np.longdouble).reshape(2, 3) / np.longdouble(7)
    got = client.decrypt(client.public_key().encrypt(values, precision=80), dtype=np.longdouble)
    assert got.dtype == np.longdouble
    assert np.abs(got - values).max() < np.longdouble(2) ** -62


@few
@given(
    left=st.lists(st.decimals(-4, 4, places=30), min_size=3, max_size=3),
    right=st.lists(st.decimals(-4, 4, places=30), min_size=3, max_size=3),
)
@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul])
def test_arithmetic_is_as_precise_with_plain_and_encrypted_numbers(precise, operation, left, right):
    client, server = precise
    want = [
        operation(mpmath.mpf(str(x)), mpmath.mpf(str(y))) for x, y in zip(left, right, strict=True)
    ]
    a, b = (server.load(client.encrypt(x)) for x in (left, right))
    for result in (
        operation(a, b),
        operation(a, right),
        operation(a, np.array([mpmath.mpf(str(y)) for y in right])),
    ):
        assert error(client.decrypt(result, dtype=mpmath.mpf), want) < 2.0 ** -(BITS - 8)
    third = Decimal(1) / 3
    scaled = [mpmath.mpf(str(x)) * mpmath.mpf(str(third)) for x in left]
    assert error(client.decrypt(a * third, dtype=mpmath.mpf), scaled) < 2.0**-85


@pytest.mark.parametrize(
    "bad", ["a", "1e", "", "NaN", "1/3", Decimal("NaN"), Decimal("Infinity"), "9" * 30_000]
)
def test_text_that_is_no_number_is_refused(precise, bad):
    with pytest.raises(ArgumentError, match=r"^encrypt: "):
        precise[0].encrypt([bad])


def test_errors_name_the_element_that_is_no_number(client):
    table = np.array([[Decimal(1), Decimal(2)], [Decimal(3), "a"]], dtype=object)
    with pytest.raises(
        ArgumentError,
        match=r'"a" is not a decimal number .* \(row 1, column 1\)\. Encode categories',
    ):
        client.encrypt(table)
    with pytest.raises(ArgumentError, match=r'"x" is not .* \(position 2\)\. Encode categories'):
        client.encrypt(["1", "2", "x"])
    with pytest.raises(
        ArgumentError, match=r'"x" is not .* \(position \(0, 1, 0\)\)\. Encode categories'
    ):
        client.encrypt([[["1"], ["x"]]])
    with pytest.raises(TypeError, match=r"NoneType \(position 1\)\. A value is missing"):
        client.encrypt([Decimal(1), None])
    with pytest.raises(EncodeError, match=r"finite number \(position 1\)$"):
        client.encrypt([Decimal(1), np.nan])
    with pytest.raises(ArgumentError, match=r"6.02e23\. Encode categories"):
        client.encrypt(np.array("a"))


@pytest.mark.parametrize(
    "bad", [np.longdouble("nan"), np.longdouble("inf"), mpmath.inf, mpmath.nan]
)
def test_what_is_not_finite_is_refused(precise, bad):
    with pytest.raises(EncodeError, match="finite"):
        precise[0].encrypt([bad, Decimal(1)])


def test_what_is_no_number_of_any_kind_is_a_type_error(precise):
    client, server = precise
    encrypted = server.load(client.encrypt([1.0]))
    for misuse in (
        lambda: client.encrypt([None]),
        lambda: client.encrypt([Decimal(1), object()]),
        lambda: client.encrypt([mpmath.mpc(1, 2)]),
        lambda: encrypted / ["3"],
        lambda: encrypted @ [Decimal(1)],
        lambda: client.decrypt(encrypted, dtype=7),
        lambda: client.decrypt(client.encrypt([1j], precision=20), dtype=Decimal),
    ):
        with pytest.raises(TypeError):
            misuse()


LARGE = 2**70 + 1
WIDE = np.array([2**60 + 1, -(2**62) + 3, 5])
UNSIGNED = np.array([2**63 + 1, 2**64 - 1, 5], dtype=np.uint64)
numbers_of_lists = st.one_of(
    st.integers(-(2**66), 2**66),
    st.floats(-(2.0**70), 2.0**70),
    st.integers(0, 2**64 - 1).map(np.uint64),
)


def test_integers_that_are_no_doubles_are_taken_as_they_are(precise):
    client, server = precise
    x = server.load(client.encrypt([1, 2, 3]))
    encrypted = client.encrypt(WIDE)
    for got, want in (
        (encrypted, WIDE.tolist()),
        (client.encrypt(np.array([2**64 - 1, 7], dtype=np.uint64)), [2**64 - 1, 7]),
        (x + LARGE, [LARGE + k for k in (1, 2, 3)]),
        (LARGE - x, [LARGE - k for k in (1, 2, 3)]),
        (x * LARGE, [LARGE * k for k in (1, 2, 3)]),
        (x + np.int64(2**60 + 1), [2**60 + 1 + k for k in (1, 2, 3)]),
        (x + WIDE, [int(w) + k for w, k in zip(WIDE, (1, 2, 3), strict=True)]),
        (client.encrypt(range(2**63 - 1, 2**63 + 2)), [2**63 - 1, 2**63, 2**63 + 1]),
        ([2**63 + 1, -1, 2.0] * x, [2**63 + 1, -2, 6]),
        (np.add.outer([2**63 + 1, -1], x[:1])[:, 0], [2**63 + 2, 0]),
        (np.concatenate([x[:1], [2**63 + 1, -1]]), [1, 2**63 + 1, -1]),
        (np.where([True, False, True], x, WIDE), [1, -(2**62) + 3, 3]),
    ):
        decrypted = client.decrypt(got, dtype=Decimal)
        assert [round(number) for number in decrypted] == want
        assert error(decrypted, [mpmath.mpf(w) for w in want]) <= 2.0 ** (4 - got.precision_bits)


@given(st.lists(numbers_of_lists, min_size=1, max_size=4))
def test_lists_are_taken_as_they_are(values):
    want = [Fraction(int(v)) if isinstance(v, np.uint64) else Fraction(v) for v in values]
    for given_values in (values, tuple(values), np.array(values, dtype=object)):
        assert [value_of(exact(v, "test")) for v in numbers(given_values, "test").tolist()] == want
    rounded = numbers([[v] for v in values], "test", rounded=True)
    assert rounded.dtype == np.float64
    assert rounded.tolist() == [[float(v)] for v in values]


# Large numbers with small differences.
PLACES = [2**63 + 1, 2**63 + 3, 2**63 + 6]


@pytest.mark.parametrize(
    "places", [PLACES, np.array(PLACES, dtype=np.uint64), [*PLACES[:2], float(2**63 + 2**12)]]
)
def test_integers_are_places_as_they_are(client, secret, places):
    values, steps = (
        [1.0, 2.0, 4.0],
        np.array([int(p) - PLACES[0] for p in places], dtype=np.float64),
    )
    trapezoid = getattr(
        np, "trapezoid" if hasattr(np, "trapezoid") else "trapz"
    )  # numpy before version 2
    for function in (trapezoid, np.gradient):
        want = function(values, steps)
        np.testing.assert_allclose(
            client.decrypt(function(secret(values), places)), want, rtol=1e-5
        )


@pytest.mark.parametrize("window", [(-3, 3), (3, -3), (-1.3, 1.1)])
def test_the_interval_of_a_series_is_as_precise_as_it_says(precise, window):
    client, server = precise
    series = np.polynomial.Chebyshev([0.5, 2.0, -0.25], domain=[-1, 0.9], window=window)
    x, values = [0.25, -0.2], []
    for one in map(Fraction, x):
        start, low = Fraction(-1), Fraction(window[0])
        place = low + (one - start) * (Fraction(window[1]) - low) / (Fraction(0.9) - start)
        values.append(Fraction(0.5) + 2 * place - Fraction(0.25) * (2 * place**2 - 1))
    got = server.load(client.encrypt(x, interval=(-0.2, 0.25), precision=60)).polynomial(series)
    assert 45 < got.precision_bits < 60
    assert error(
        client.decrypt(got, dtype=mpmath.mpf),
        [mpmath.mpf(v.numerator) / v.denominator for v in values],
    ) <= (2.0 ** (4 - got.precision_bits))


def test_what_is_rounded_to_doubles_says_so(precise):
    client, server = precise
    x = server.load(client.encrypt([1.0, 2.0]))
    for got, want in (
        (x @ WIDE[:2], [int(WIDE[0]) + 2 * int(WIDE[1])]),
        (x @ [2**63 + 1, -1], [2**63 - 1]),
        ([[[2**63 + 1, -1]]] @ x, [2**63 - 1]),
        (x @ np.array([[LARGE], [1]], dtype=object), [LARGE + 2]),
        *(
            (np.correlate(p, x), p[:-1].astype(object) + 2 * p[1:].astype(object))
            for p in (WIDE, WIDE.astype(object), UNSIGNED)
        ),
        (
            np.convolve(UNSIGNED, x, "valid"),
            UNSIGNED[1:].astype(object) + 2 * UNSIGNED[:-1].astype(object),
        ),
        *(
            (x.polynomial(c), [int(c[0]) + int(c[1]) * k for k in (1, 2)])
            for c in ([LARGE, 3], WIDE[:2], [2**63 + 1, -1])
        ),
        (x.polynomial(np.poly1d(WIDE[:2])), [int(WIDE[0]) * k + int(WIDE[1]) for k in (1, 2)]),
        (np.gradient(x, 0.1), [1 / Fraction(0.1)] * 2),
        (
            np.fft.fft(server.load(client.encrypt([0, 1, 0]))).real,
            [Fraction(1), Fraction(-1, 2), Fraction(-1, 2)],
        ),
    ):
        assert got.precision_bits < 60
        fractions = [mpmath.mpf(Fraction(w).numerator) / Fraction(w).denominator for w in want]
        assert error(client.decrypt(got, dtype=mpmath.mpf), fractions) <= 2.0 ** (
            4 - got.precision_bits
        )


def test_quotients_and_means_have_all_bits():
    bits = 80
    client = hippocrene.Client.generate("n14", precision=bits)
    server = hippocrene.Server(client.evaluation_keys())
    values = [Fraction(Decimal(x)) for x in SEVENTHS]
    x, n = server.load(client.encrypt(SEVENTHS)), len(values)
    mean = sum(values) / n
    weights = [0.1, 0.2, 0.7, 1.0, 3.0, 0.3, 0.9]
    weighted = sum(Fraction(w) * v for w, v in zip(weights, values, strict=True)) / sum(
        map(Fraction, weights)
    )
    squares = sum((v - mean) ** 2 for v in values)
    divisors = [1.5, -3.0, 0.1, 7.0, 2.0**60, 1e-3, 11.0]
    third = np.polynomial.Chebyshev([0.5, 1.0], domain=[-3, 3])
    for got, want in (
        (x / 3, [v / 3 for v in values]),
        (x / 0.1, [v / Fraction(0.1) for v in values]),
        (x / -8, [v / -8 for v in values]),
        (x / Decimal("0.1"), [v * 10 for v in values]),
        (x / np.longdouble(7), [v / 7 for v in values]),
        (x / mpmath.mpf(7), [v / 7 for v in values]),
        (x / Fraction(2, 7), [v * 7 / 2 for v in values]),
        (x / LARGE, [v / LARGE for v in values]),
        (x / divisors, [v / Fraction(d) for v, d in zip(values, divisors, strict=True)]),
        (
            x / [int(w) for w in (*WIDE, *WIDE, 3)],
            [v / int(w) for v, w in zip(values, (*WIDE, *WIDE, 3), strict=True)],
        ),
        (x / np.array([Decimal(3)] * n), [v / 3 for v in values]),
        (x.mean(), [mean]),
        (np.average(x, weights=weights), [weighted]),
        (x.var(), [squares / n]),
        (x.var(ddof=1), [squares / (n - 1)]),
        (np.cov(x), [squares / (n - 1)]),
        (x.polynomial(third), [Fraction(1, 2) + v / 3 for v in values]),
    ):
        numbers = [mpmath.mpf(w.numerator) / w.denominator for w in want]
        assert got.precision_bits > bits - 12
        assert error(client.decrypt(got, dtype=mpmath.mpf), numbers) <= 2.0 ** (
            4 - got.precision_bits
        )
    for divisor in (0, 0.0, Decimal(0), Fraction(0), [1, 0] * 3 + [1], np.longdouble(0)):
        with pytest.raises(ZeroDivisionError):
            x / divisor
    for divisor in (
        Decimal("Infinity"),
        Decimal("1e-999999999"),
        mpmath.mpf("1e99999999"),
        float("nan"),
    ):
        with pytest.raises((EncodeError, ArgumentError)):
            x / divisor
    assert abs(client.decrypt(x / 1e300)).max() < 1e-25
    # Complex divisors are doubles.
    assert (x / (1 + 3j)).precision_bits < 56


def test_products_are_as_precise_as_their_scales(precise):
    client, server = precise
    numbers = [Fraction(10**9) * Fraction(x) for x in SEVENTHS]
    x = server.load(client.encrypt(np.array(numbers, dtype=object)))
    y = x * x
    assert error(
        client.decrypt(y, dtype=mpmath.mpf),
        [mpmath.mpf((a * a).numerator) / (a * a).denominator for a in numbers],
    ) < (2.0 ** (3 - y.precision_bits))
    # Small numbers are as precise as ever.
    small = server.load(client.encrypt(SEVENTHS))
    assert (small * small).precision_bits > BITS
