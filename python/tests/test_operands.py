"""Plain arrays of every kind that meet encrypted arrays."""

from __future__ import annotations

import array
import multiprocessing
import operator
import weakref
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest

import hippocrene

V = np.array([0.5, -1.25, 2.0])
M = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [1.0, 1.25, 0.5], [-0.5, 0.75, 1.0]])


class Table:
    """An array of another library, which has a way of its own to compute."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self.values

    def compute(self, other):
        return (
            NotImplemented if getattr(other, "__pandas_priority__", 0) > 4000 else np.asarray(other)
        )

    __add__ = __sub__ = __mul__ = compute


# At an address that is no multiple of its size, as those are that Dask hands out.
MISALIGNED = np.frombuffer(b"-" + V.tobytes(), offset=1)
SHARED = multiprocessing.RawArray("d", [0.5, -1, 2])

ARRAYS = [
    MISALIGNED,
    SHARED,
    range(1, 4),
    array.array("d", [0.5, -1, 2]),
    memoryview(V),
    Table(V),
    Table(M),
    (1, 2.5, -1),
    [[1], [2]],
]


@pytest.mark.parametrize(
    "other", [*ARRAYS, Fraction(1, 3), Fraction(5, 4)], ids=lambda other: type(other).__name__
)
@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul])
def test_whatever_is_an_array_is_an_operand(secret, near, operation, other):
    plain = np.asarray(float(other) if isinstance(other, Fraction) else other)
    near(operation(secret(V), other), operation(V, plain))
    near(operation(other, secret(V)), operation(plain, V))


@pytest.mark.parametrize("other", ARRAYS[:6])
def test_whatever_is_an_array_is_a_divisor_and_a_matrix(secret, near, other):
    near(secret(V) / other, V / np.asarray(other))
    near(secret(M) @ other, M @ np.asarray(other))
    near(np.dot(other, secret(V)), np.dot(np.asarray(other), V))


def test_misaligned_arrays_are_arrays(client, near):
    assert not MISALIGNED.flags.aligned
    near(client.encrypt(MISALIGNED), V)
    z = np.frombuffer(b"-" + (V * 1j).tobytes(), np.complex128, offset=1)
    np.testing.assert_allclose(client.decrypt(client.encrypt(z)), V * 1j, atol=1e-8)
    simulated = hippocrene.simulate(lambda x: x @ MISALIGNED, MISALIGNED, preset="n13")
    np.testing.assert_allclose(simulated.result, V @ V)


def test_nothing_is_divided_by_zero(secret, near):
    """numpy reports the flags of the floating-point unit after each operation on arrays of objects."""
    x = secret(V)
    pair = np.empty(2, object)
    pair[0] = pair[1] = x
    with np.errstate(all="raise"):
        for result, expected in [
            (pair * 2, 2 * V),
            (pair * 0, 0 * V),
            (pair + pair, 2 * V),
            (
                np.frompyfunc(lambda v: np.eye(3) @ np.roll(v, 1) + v.sum(), 1, 1)(pair),
                np.roll(V, 1) + V.sum(),
            ),
            (
                np.frompyfunc(lambda v: np.zeros((3, 3)) @ v + v * np.zeros(3) + np.zeros(3), 1, 1)(
                    pair
                ),
                0 * V,
            ),
        ]:
            near(result[1], expected)


def test_what_is_computed_with_has_weak_references(client, keys, server):
    for one in (client, keys, server, server.load(client.encrypt(V))):
        assert weakref.ref(one)() is one


def test_fractions_are_numbers(client, near):
    server = hippocrene.Server(client.evaluation_keys(rotations=[]))
    x = server.load(client.encrypt(V))
    near(x / Fraction(3, 7), V * 7 / 3)
    near(x / Fraction(1, 4), V * 4)
    near(client.encrypt([Fraction(1, 3), Fraction(-2, 7)]), [1 / 3, -2 / 7])
    with pytest.raises(ZeroDivisionError):
        x / Fraction(0)


@pytest.mark.parametrize("other", [None, "a", b"a", {1}, {1: 2}, np.str_("a"), ...], ids=repr)
def test_what_is_no_array_is_no_operand(secret, other):
    for operation in (operator.add, operator.mul, operator.truediv, operator.matmul):
        with pytest.raises(TypeError):
            operation(secret(V), other)
        with pytest.raises(TypeError):
            operation(other, secret(V))


def test_objects_of_pandas(secret, near):
    frame, line = pandas.DataFrame(M, columns=list("abc")), pandas.Series(V, index=list("xyz"))
    ed, ev = secret(M), secret(V)
    near(ev + line, 2 * V)
    near(line + ev, 2 * V)
    near(line - ev * 2, -V)
    near(line * ev, V * V)
    near(ev / line, np.ones(3))
    near((ed - frame.mean()) / frame.std(), ((frame - frame.mean()) / frame.std()).to_numpy())
    near(line - ed, V - M)
    near(ed * frame, M * M)
    near(frame - 2 * ed, -M)
    near(ed @ line, M @ V)
    near(ed @ frame.T, M @ M.T)
    near(ev @ frame.T, V @ M.T)
    near(np.dot(line, ev), V @ V)
    near(np.dot(frame, ev), M @ V)
    near(np.add(frame, ed), 2 * M)
    near(np.concatenate([ed, frame]), np.concatenate([M, M]))
    for refused in (lambda: line @ ev, lambda: frame @ ev):
        with pytest.raises(TypeError, match=r"numpy\.dot\(a, x\) if a pandas object"):
            refused()


@pytest.mark.parametrize("other", [None, "a", b"a", {1}, {1: 2}, np.str_("a"), ...], ids=repr)
def test_what_is_no_array_is_not_compared_with(secret, other):
    x = secret(V)
    for name, compute in (
        ("greater", lambda: x > other),
        ("less", lambda: x <= other),
        ("less", lambda: other > x),
        ("maximum", lambda: x.maximum(other)),
        ("minimum", lambda: np.minimum(x, other)),
        ("is_close", lambda: x.is_close(other, tolerance=0.1)),
    ):
        with pytest.raises(
            TypeError, match=f"^{name} takes encrypted arrays, plain arrays and numbers, not"
        ):
            compute()


@pytest.mark.parametrize(
    "limit", ["a", b"1", ..., {1: 2}, Decimal("NaN"), Decimal("sNaN")], ids=repr
)
def test_limits_that_are_no_numbers_are_refused(secret, limit):
    for limits in ((0, limit), (limit, 1)):
        with pytest.raises((TypeError, hippocrene.EncodeError), match=r"^clip(:| takes)"):
            secret(V).clip(*limits)
    if not isinstance(limit, Decimal):
        with pytest.raises(TypeError, match=r"^clip takes"):
            np.clip(secret(V), None, limit)


@pytest.mark.parametrize(
    ("divisor", "words"),
    [
        ([1e-310, 1.0, 1.0], "one over 1e-310 is too large for a double"),
        ([1.0, 1e-310 + 0j, 1.0], "one over .* is too large for a double"),
        (1e-310, "one over 1e-310 is too large for a double"),
        ([1.0, np.inf, 1.0], "inf at position 1: only finite"),
        ([1.0, np.nan, 1.0], "nan at position 1: only finite"),
        ([np.inf + 0j, 1.0, 1.0], ".* at position 0: only finite"),
        (np.inf, "inf: only finite"),
    ],
    ids=repr,
)
def test_divisors_whose_inverses_are_no_doubles_are_refused(secret, divisor, words):
    with pytest.raises(hippocrene.EncodeError, match=f"^div: {words}"):
        secret(V) / divisor


def test_bytes_that_are_no_text_are_no_numbers(client, secret):
    for compute in (client.encrypt, secret(V[:2]).__add__):
        with pytest.raises(
            hippocrene.ArgumentError, match=r"xff.* is not a decimal number .*position 0"
        ):
            compute(np.array([b"\xff", b"1"]))
    with pytest.raises(hippocrene.ArgumentError, match="is not a decimal number"):
        np.pad(secret(V), 1, constant_values="a")


def test_what_is_left_away_or_read_elsewhere_is_refused(secret):
    """Masks, dates for weights, and infinite distances."""
    x = secret(V)
    masked = np.ma.array([1, 0, 1], mask=[0, 0, 1])
    for compute in (lambda: np.where(masked, x, 0.0), lambda: np.compress(masked, x)):
        with pytest.raises(TypeError, match="takes no masked arrays"):
            compute()
    with pytest.raises(
        TypeError, match=r"average takes numbers, not values of type datetime64\[D\]\. Encode dates"
    ):
        np.average(x, weights=np.array(["2020-01-01"] * 3, dtype="datetime64[D]"))
    with pytest.raises(TypeError, match="average takes numbers, not text"):
        np.average(x, weights=["1", "2", "3"])
    with pytest.raises(hippocrene.ArgumentError, match=r"gradient: .* finite"):
        np.gradient(x, np.inf)
    with pytest.raises(hippocrene.ArgumentError, match="matrix_power"):
        np.linalg.matrix_power(secret(np.eye(2)), 10**400)
    with pytest.raises(hippocrene.ShapeError, match=r"^dot: "):
        x.dot([1, [2, 3]])
    with pytest.raises(TypeError, match="polyval takes an encrypted array, not float"):
        hippocrene.polyval([1, 2], 3.0)


DAYS = np.array(["2020-01-01", "2020-03-01"], dtype="datetime64[D]")
UNENCODED = [
    (DAYS, "datetime64\\[D\\]", "days since a first day"),
    (pandas.Series(DAYS), "datetime64", "days since a first day"),
    (pandas.Series(DAYS).dt.tz_localize("UTC"), "Timestamp", "days since a first day"),
    (list(DAYS.astype(object)), "date", "days since a first day"),
    (pandas.DataFrame({"day": DAYS, "age": [1, 2]}), "Timestamp", "days since a first day"),
    (pandas.period_range("2020-01", periods=2, freq="M"), "Period", "days since a first day"),
    (DAYS.astype(str), "2020-01-01", "pandas.to_datetime reads text"),
    (["31.01.2020", "1"], "31.01.2020", "pandas.to_datetime reads text"),
    (DAYS - DAYS[0], "timedelta64", "durations / numpy.timedelta64"),
    (pandas.Categorical(["red", "blue"]), "red", "pandas.get_dummies"),
    (pandas.Series(["red", "blue"], dtype="category"), "red", "pandas.get_dummies"),
    (np.array(["red", "blue"]), "red", "pandas.get_dummies"),
    (np.array([b"red"]), "red", "pandas.get_dummies"),
    (
        pandas.DataFrame({"age": [1, 2], "colour": ["red", "blue"]}),
        "row 0, column 1",
        "pandas.get_dummies",
    ),
    (np.array([1, pandas.NA], dtype=object), "NAType", "fillna"),
    (["1", ""], "position 1", "fillna"),
]


@pytest.mark.parametrize(
    ("values", "told", "advice"), UNENCODED, ids=lambda one: type(one).__name__
)
def test_errors_say_how_dates_and_categories_are_encoded(client, values, told, advice):
    with pytest.raises(
        (TypeError, hippocrene.ArgumentError), match=f"{told}.*[.] .*{advice}"
    ) as info:
        client.encrypt(values)
    assert str(info.value).endswith(".")
    assert str(info.value).count(advice) == 1


def test_integer_keys_say_how_dates_and_categories_are_encoded():
    client = hippocrene.Client.generate("n12", scheme="bgv")
    for values, _, advice in UNENCODED:
        with pytest.raises(TypeError, match=f"^encrypt takes integers here, not .*[.] .*{advice}"):
            client.encrypt(values)


def test_encoded_dates_and_categories_are_encrypted(client):
    """The recipes that errors give."""
    for days in (DAYS, pandas.Series(DAYS), pandas.to_datetime(pandas.Series(DAYS.astype(str)))):
        since = (days - np.datetime64("2020-01-01")) / np.timedelta64(1, "D")
        np.testing.assert_allclose(client.decrypt(client.encrypt(since)), [0, 60], atol=1e-6)
    colours = pandas.Series(["red", "blue", "red"], dtype="category")
    codes, _ = pandas.factorize(colours)
    np.testing.assert_allclose(client.decrypt(client.encrypt(codes)), [0, 1, 0], atol=1e-6)
    dummies = client.decrypt(client.encrypt(pandas.get_dummies(colours)))
    np.testing.assert_allclose(dummies, [[0, 1], [1, 0], [0, 1]], atol=1e-6)


@pytest.mark.parametrize(
    ("compute", "place"),
    [
        (lambda x, m: x + m, "add: nan at row 1, column 2"),
        (lambda x, m: m * x, "mul: nan at row 1, column 2"),
        (lambda x, m: x / m, "div: nan at row 1, column 2"),
        (lambda x, m: x @ m.T, "matmul: nan at row 2, column 1"),
        (lambda x, m: x + pandas.DataFrame(m), "add: nan at row 1, column 2"),
        (lambda x, m: np.concatenate([x, m]), "concatenate: nan at row 1, column 2"),
        (lambda x, m: np.where(np.isnan(m), m, x), "where: nan at row 1, column 2"),
        (lambda x, m: x + m * np.nan, "add: nan at row 0, column 0"),
    ],
)
def test_missing_numbers_are_named(secret, compute, place):
    missing = M.copy()
    missing[1, 2] = np.nan
    with pytest.raises(
        hippocrene.EncodeError, match=f"^{place}: only finite numbers can be computed with"
    ):
        compute(secret(M), missing)


def test_numbers_that_are_not_chosen_may_be_missing(secret, near):
    missing = np.where(M == 0.25, np.nan, M)
    near(np.where(np.isnan(missing), secret(M), missing), M)
    near(np.select([np.isnan(missing)], [secret(M)], missing), M)


def test_complex_numbers_come_as_objects(client, server):
    z = np.array([[1 + 2j, 3, np.complex64(0.5j)]], dtype=object)
    x = server.load(client.encrypt(z))
    want = z.astype(complex)
    np.testing.assert_allclose(client.decrypt(x), want, atol=1e-6)
    np.testing.assert_allclose(client.decrypt(x * z), want * want, atol=1e-6)
    for wide in (want.astype(np.clongdouble), want.astype(np.clongdouble).astype(object)):
        with pytest.raises(TypeError, match=r"encrypt takes numbers, not values of type c"):
            client.encrypt(wide)
    with pytest.raises(
        TypeError, match=r"mul .* type complex\d+: .astype\(complex\) rounds them to doubles"
    ):
        x * want.astype(np.clongdouble)
