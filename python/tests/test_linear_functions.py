"""Functions of numpy that are linear in encrypted values: sums of groups, fits, interpolation and choices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hippocrene
from hippocrene import ArgumentError, ShapeError

some = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
V = np.array([0.5, -1.25, 2.0, 0.25, -0.75, 1.5])
T = np.arange(24.0).reshape(2, 3, 4) / 16 - 0.5
C = T[0] + 1j * T[1]
SQUARE = np.array([[2.0, 0.5, -0.25], [0.25, 1.0, 0.5], [-0.5, 0.125, 4.0]])
PLACES = [0.0, 0.5, 1.0, 2.0, 4.0, 8.0]
CHOICE = np.array([[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]])
# numpy has it since version 2.1.
CUMULATIVE = [
    lambda v, _: np.cumulative_sum(v),
    lambda _, x: np.cumulative_sum(x, axis=1, include_initial=True),
]

# Programs on arrays of the shapes (6,) and (2, 3, 4).
SAME = [
    lambda v, _: np.bincount([0, 2, 2, 0, 4, 2], weights=v),
    lambda v, _: np.bincount([1, 1, 1, 1, 1, 1], v, minlength=4),
    lambda _, x: np.bincount(np.arange(4) % 2, weights=x[1, 2]),
    lambda v, _: np.histogram([0.5, 3, 2, 9, 1, 3], 4, weights=v)[0],
    lambda v, _: np.histogram([0.5, 3, 2, 9, 1, 3], [0, 1, 1.5, 3], weights=v)[0],
    lambda _, x: np.histogram(T[0], bins=3, range=(-0.4, 0.2), weights=x[1])[0],
    lambda _, x: np.histogram(T[0], bins=2, range=(7, 8), weights=x[1])[0],
    lambda v, _: np.add.reduceat(v, [0, 2, 5]),
    lambda v, _: np.add.reduceat(v, [3, 1, 1, 5, 0]),
    lambda _, x: np.add.reduceat(x, [0, 3], axis=-1),
    lambda _, x: np.add.reduceat(x, [1, 0, 2], axis=1),
    lambda v, _: np.ediff1d(v),
    lambda v, _: np.ediff1d(v, to_end=[9.0, 8.0], to_begin=-1),
    lambda _, x: np.ediff1d(x),
    lambda v, _: np.polyfit(PLACES, v, 2),
    lambda v, _: np.polyfit(range(6), v, 3, w=[1, 2, 1, 1, 0.5, 1]),
    lambda _, x: np.polyfit([1.0, 2.0], x[:, 0], 1),
    lambda v, _: np.linalg.solve(SQUARE, v[:3]),
    lambda _, x: np.linalg.solve(SQUARE, x[1]),
    lambda v, _: np.interp([0.25, 3.0, 8.0, -1.0, 9.0, 0.5], PLACES, v),
    lambda v, _: np.interp([[0.25, 3.0], [8.5, -1.0]], PLACES, v, left=-7, right=5.0),
    lambda v, _: np.interp([0.25, 3.0, 11.0, -1.0], PLACES, v, period=10),
    lambda v, _: np.interp(4.0, [3.0], v[:1]),
    lambda v, _: np.select([V > 1, V > 0], [v, -v]),
    lambda v, _: np.select([V > 1, [False] * 6], [V, v], 3.0),
    lambda _, x: np.select([CHOICE == 0, CHOICE[:, :1] == 1], [x, 2.0], x[0]),
    lambda _, x: np.choose(CHOICE, [x[0], x[1]]),
    lambda _, x: np.choose(CHOICE * 5, [x[0], T[1], x[1, 0]], mode="clip"),
    lambda _, x: np.choose(CHOICE * 5 - 1, [x[0], T[1], x[1, 0]], mode="wrap"),
    lambda v, _: np.extract(V > 0, v),
    lambda _, x: np.extract(T % 0.25 == 0, x),
    lambda v, _: np.vander(v),
    lambda v, _: np.vander(v, 3, increasing=True),
    lambda v, _: np.sum(v, where=V > 0),
    lambda _, x: np.sum(x, axis=(0, 2), where=CHOICE == 1, initial=2.5),
    lambda _, x: x.sum(axis=1, keepdims=True, where=[True, False, False, True]),
    lambda v, _: v.sum(initial=-3),
    lambda v, _: v[[3, 1, 1, 0]].sum(where=[True, True, False, True]),
    lambda _, x: np.mean(x, axis=0, where=T[:1] < 0.25),
    lambda _, x: np.mean(x, axis=(0, 1), keepdims=True, where=CHOICE == 1),
    lambda v, _: v.mean(where=V > 0),
    lambda v, _: np.prod(v[:4], where=V[:4] > 0, initial=2),
    lambda _, x: x.prod(axis=0, where=CHOICE == 1),
    lambda v, _: np.sum(v[0], axis=0),
    lambda v, _: v[0].sum(axis=-1, keepdims=True),
    lambda v, _: np.prod(v[0], axis=-1),
    lambda v, _: np.cumsum(v[0], axis=0),
    *(CUMULATIVE if hasattr(np, "cumulative_sum") else []),
]


@pytest.mark.parametrize("compute", SAME)
def test_they_are_numpys(secret, near, compute):
    near(compute(secret(V), secret(T)), compute(V, T))


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: np.fft.fft2(x),
        lambda x: np.fft.ifft2(x, s=(4, 2)),
        lambda x: np.fft.fftn(x, s=(2,), axes=(1,)),
        lambda x: np.fft.fftn(x, norm="ortho"),
        lambda x: np.fft.ifftn(x, axes=(0,)),
        lambda x: (
            np.bincount([0, 1, 0, 1], weights=x[2])
            if isinstance(x, hippocrene.EncryptedArray)
            else groups(x[2])
        ),
        lambda x: np.linalg.solve(SQUARE * (1 + 0.5j), x),
    ],
)
def test_of_complex_numbers(secret, client, compute):
    np.testing.assert_allclose(client.decrypt(compute(secret(C))), compute(C), atol=2e-4)


def groups(x) -> np.ndarray:
    """Compute numpy.bincount for complex weights, which numpy refuses."""
    return np.array([x[::2].sum(), x[1::2].sum()])


@some
@given(data=st.data())
def test_histograms_include_the_upper_edge_of_the_last_bin_only(secret, near, data):
    """Values lie on the edges, between them and beyond them."""
    at = st.integers(-10, 10).map(lambda place: place / 2)
    values = data.draw(st.lists(at, min_size=1, max_size=20))
    weights = np.linspace(-1, 1, len(values))
    edges = sorted(data.draw(st.sets(st.integers(-4, 4), min_size=2)))
    ways = [{"bins": edges}, {"bins": data.draw(st.integers(1, 6)), "range": (edges[0], edges[-1])}]
    for way in ways:
        expected, _ = np.histogram(values, weights=weights, **way)
        near(np.histogram(values, weights=secret(weights), **way)[0], expected)


@some
@given(data=st.data())
def test_sums_of_groups(secret, near, data):
    count = data.draw(st.integers(1, 30))
    v = np.linspace(-1, 1, count)
    labels = data.draw(st.lists(st.integers(0, 12), min_size=count, max_size=count))
    least = data.draw(st.integers(0, 15))
    near(
        np.bincount(labels, weights=secret(v), minlength=least),
        np.bincount(labels, weights=v, minlength=least),
    )
    starts = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=12))
    near(np.add.reduceat(secret(v), starts), np.add.reduceat(v, starts))


@some
@given(data=st.data())
def test_values_between(secret, near, data):
    numbers = st.integers(-20, 20).map(lambda k: k / 4)
    places = sorted(data.draw(st.sets(numbers, min_size=1, max_size=12)))
    values = np.cos(np.arange(len(places)))
    at = data.draw(st.lists(numbers, min_size=1, max_size=20))
    keywords = data.draw(
        st.fixed_dictionaries(
            {},
            optional={"left": numbers, "right": numbers, "period": st.sampled_from([20.0, -7.5])},
        )
    )
    if "period" in keywords and len({place % abs(keywords["period"]) for place in places}) < len(
        places
    ):
        return
    near(
        np.interp(at, places, secret(values), **keywords), np.interp(at, places, values, **keywords)
    )


def test_of_integers():
    client = hippocrene.Client.generate("n13", scheme="bgv")
    server = hippocrene.Server(client.evaluation_keys())
    plain = np.array([3, -7, 12, 5, 0, 9])
    x = server.load(client.encrypt(plain))
    for have, want in [
        (np.bincount([1, 0, 1, 3, 3, 1], weights=x), [-7, 24, 0, 5]),
        (np.add.reduceat(x, [0, 4, 2]), np.add.reduceat(plain, [0, 4, 2])),
        (np.ediff1d(x, to_end=2**40), [*np.ediff1d(plain).tolist(), 2**40 % client.plain_modulus]),
        (np.select([plain > 5, plain < 0], [x, -x], 1), [1, 7, 12, 1, 1, 9]),
        (np.choose([0, 1, 0, 1, 0, 1], [x, 4]), [3, 4, 12, 4, 0, 4]),
        (np.sum(x, where=plain > 4, initial=2**40), 26 + 2**40),
        (np.vander(x[:3], 3), np.vander(plain[:3], 3)),
    ]:
        got = client.decrypt(have, signed=True)
        assert np.all((got - np.asarray(want, dtype=object)) % client.plain_modulus == 0)
    for refused in [
        lambda: np.interp([0.5], range(6), x),
        lambda: np.polyfit(range(6), x, 1),
        lambda: np.linalg.solve(np.eye(6), x),
        lambda: np.fft.fft2(x.reshape(2, 3)),
    ]:
        with pytest.raises(TypeError, match="integers"):
            refused()


def test_one_multiplication_does(secret):
    v = secret(V)
    step = v.capacity_bits - (v * 0.3).capacity_bits
    for result in [
        np.bincount([0, 2, 2, 0, 4, 2], weights=v),
        np.add.reduceat(v, [3, 1, 1, 5, 0]),
        np.interp([0.25, 3.0], PLACES, v),
        np.polyfit(PLACES, v, 2),
        np.select([V > 1, V > 0], [v, -v]),
        np.choose([0, 1, 2, 0, 1, 2], [v, -v, 1]),
    ]:
        assert v.capacity_bits - result.capacity_bits < step + 6


@pytest.mark.parametrize(
    ("compute", "error", "words"),
    [
        (
            lambda v: np.bincount([0, 1], weights=v),
            ShapeError,
            r"2 labels for weights of shape \(6,\)",
        ),
        (lambda v: np.bincount([0, -1], weights=v), ShapeError, "negative"),
        (
            lambda v: np.histogram([1, 2], weights=v),
            ShapeError,
            r"values of shape \(2,\) for weights of shape \(6,\)",
        ),
        (lambda v: np.bincount([0.5], weights=v), TypeError, "bincount"),
        (lambda v: np.bincount(v), ArgumentError, "pass it as minlength"),
        (lambda v: np.add.reduceat(v, [6]), IndexError, "out-of-bounds"),
        (lambda v: np.add.reduceat(v, []), ShapeError, "One axis with at least one element"),
        (
            lambda v: np.add.reduceat(v, [0], axis=1),
            ShapeError,
            r"add\.reduceat: axis 1 is out of range",
        ),
        (lambda v: np.multiply.reduceat(v, [0]), TypeError, r"numpy\.multiply\.reduceat takes no"),
        (lambda v: np.polyfit(v, V, 1), TypeError, "plain places"),
        (lambda v: np.polyfit(V, v, 1, full=True), TypeError, "no full= and no cov="),
        (lambda v: np.polyfit(V[:2], v, 1), TypeError, "same length"),
        (lambda v: np.linalg.solve(np.ones((6, 6)), v), ArgumentError, r"linalg\.solve: Singular"),
        (
            lambda v: np.linalg.solve(np.ones((5, 6)), v),
            ShapeError,
            r"linalg\.solve: shapes \(5, 6\) and \(6,\)",
        ),
        (
            lambda v: np.linalg.solve(np.eye(4), v),
            ShapeError,
            r"linalg\.solve: shapes \(4, 4\) and \(6,\)",
        ),
        (lambda v: np.linalg.solve(v.reshape(2, 3), V[:2]), TypeError, "Approximate the inverse"),
        (lambda v: np.interp([0.5], V[:2], v), ShapeError, r"interp: places of shape \(2,\)"),
        (lambda v: np.interp(v, PLACES, v), TypeError, "not both"),
        (lambda v: np.interp([0.5], PLACES, v, period=0), ArgumentError, "period"),
        (lambda v: np.interp([np.nan], PLACES, v), ArgumentError, "places are numbers"),
        (lambda v: np.interp([0.5], V, v), ArgumentError, "must increase"),
        (lambda v: np.polyfit(V, v, -1), ShapeError, "expected deg"),
        (
            lambda v: np.fft.fft2(v.reshape(2, 3), s=(2, 0)),
            ShapeError,
            "Invalid number of FFT data points",
        ),
        (lambda v: np.select([V > 0], [v, v]), ShapeError, "1 conditions and 2 choices"),
        (lambda v: np.select([V], [v]), TypeError, "booleans"),
        (lambda v: np.select([[True, False]], [v]), ShapeError, "select"),
        (
            lambda v: np.choose([0, 1, 2, 0, 0, 0], [v, v]),
            ShapeError,
            "invalid entry in choice array",
        ),
        (lambda v: np.choose(V, [v, v]), TypeError, "integers"),
        (lambda v: np.extract(v, V), TypeError, "encrypted condition"),
        (lambda v: np.sum(v, where=V), TypeError, "sum: where= takes booleans"),
        (
            lambda v: v.sum(where=[True, False]),
            ShapeError,
            r"sum: a mask of shape \(2,\) does not broadcast to \(6,\)",
        ),
        (lambda v: v.mean(where=v), TypeError, "the mask must be plain"),
        (lambda v: v.mean(where=[False] * 6), ArgumentError, "leaves no values"),
        (lambda v: np.mean(v, initial=1), TypeError, "initial"),
        (lambda v: np.vander(v, 1), ArgumentError, "columns"),
        (lambda v: np.vander(v.reshape(2, 3)), ShapeError, "one axis"),
        (lambda v: np.fft.fft2(v), ShapeError, r"fft\.fft2: axis -2 is out of range"),
        (lambda v: np.fft.fft2(v.reshape(2, 3), s=(2,)), ShapeError, "1 lengths for 2 axes"),
    ],
)
def test_mistakes_are_named(secret, compute, error, words):
    with pytest.raises(error, match=words):
        compute(secret(V))


@pytest.mark.parametrize("weights", [np.arange(9.0).reshape(3, 3), np.arange(3.0)[:, None]])
def test_the_order_of_weights_in_memory_does_not_matter(weights):
    picked, rows = [0, 2, 1], np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])

    def products(x, w):
        return x[0][picked] @ w, x[:, picked] @ w, (x[:, picked][:, :, None] * w[None]).sum(axis=1)

    expected = products(rows, weights)
    for stored in (weights, np.asfortranarray(weights), weights[::-1][::-1], weights.T.copy().T):
        plan = hippocrene.simulate(lambda x, w=stored: products(x, w), rows, preset="n13")
        for found, wanted in zip(plan.result, expected, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_sums_of_columns_of_arrays_in_column_order_are_right():
    x = np.array([1.0, 2.0, 3.0])
    weights = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    picked = [2, 0, 1]
    plan = hippocrene.simulate(
        lambda x: (x[picked][:, None] * weights).sum(axis=0), x, preset="n13"
    )
    np.testing.assert_allclose(plan.result, (x[picked][:, None] * weights).sum(axis=0), atol=1e-9)
