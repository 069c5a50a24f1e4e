from __future__ import annotations

import copy
import math
import pickle
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import hippocrene
from hippocrene import ArgumentError, EncryptedArray, ParameterError

X = np.linspace(-1, 1, 33)
TRAPEZOID = getattr(
    np, "trapezoid" if hasattr(np, "trapezoid") else "trapz"
)  # numpy before version 2


def test_the_precision_of_a_client_is_that_of_its_arrays():
    client = hippocrene.Client.generate("n13", precision=24)
    assert client.precision == 24
    assert client.preset == "n13"
    again = hippocrene.Client.from_bytes(client.to_bytes())
    assert again.precision == 24
    encrypted = again.encrypt(X)
    assert encrypted.precision == 24
    server = hippocrene.Server(client.evaluation_keys(rotations=[]))
    square = server.load(encrypted) ** 2
    assert square.precision == 24
    error = np.abs(client.decrypt(square) - X**2).max()
    assert error < 2.0**-21
    assert square.precision_bits > 23


def test_precision_travels_with_the_array(client, secret):
    encrypted = secret(X, precision=22.5)
    for one in (
        EncryptedArray.from_bytes(encrypted.to_bytes()),
        copy.copy(encrypted),
        pickle.loads(pickle.dumps(encrypted)),
        encrypted * 2,
        encrypted + 1.5,
        encrypted * encrypted,
        encrypted.sum(),
        encrypted.T,
    ):
        assert one.precision == 22.5
    assert client.public_key().encrypt(X, precision=20).precision == 20


def test_operations_have_the_least_precision_of_their_operands(client, secret):
    fine, coarse = secret(X), secret(X, precision=12)
    for result, want in ((fine * coarse, X * X), (coarse + fine, X + X), (fine - coarse, X - X)):
        assert result.precision == 12
        np.testing.assert_allclose(client.decrypt(result), want, atol=2.0**-9)


def test_less_precision_takes_less_capacity(client, secret):
    encrypted = secret(X)
    low = encrypted.with_precision(10)
    assert low.precision == 10
    assert encrypted.precision == client.precision
    used, spared = (
        array.capacity_bits - (array * array * array).capacity_bits for array in (encrypted, low)
    )
    assert spared < used - 8
    np.testing.assert_allclose(client.decrypt(low * low), X**2, atol=2.0**-7)


def test_a_block_of_operations_has_its_own_precision(client, server, secret):
    encrypted = secret(X)
    with server.at_precision(14) as same:
        assert same is server
        product = encrypted * 0.3
        with server.at_precision(16):
            assert (encrypted * encrypted).precision == 16
        assert (product + 1).precision == 14
        seen = []
        thread = threading.Thread(target=lambda: seen.append((encrypted * 0.3).precision))
        thread.start()
        thread.join()
        assert seen == [client.precision]
    assert product.precision == 14
    assert (encrypted * 0.3).precision == client.precision
    np.testing.assert_allclose(client.decrypt(product), X * 0.3, atol=2.0**-11)
    with pytest.raises(RuntimeError, match="stop"), server.at_precision(14):
        raise RuntimeError("stop")
    assert (encrypted * 0.3).precision == client.precision


@pytest.mark.parametrize("bits", [-50, 10_000, np.nan, np.inf])
def test_precisions_that_cannot_be_had_are_refused(client, server, secret, bits):
    for ask in (
        lambda: hippocrene.Client.generate("n13", precision=bits),
        lambda: client.encrypt(X, precision=bits),
        lambda: secret(X).with_precision(bits),
        lambda: server.at_precision(bits).__enter__(),
    ):
        with pytest.raises(ParameterError, match=r"a precision of .* bits takes a scale"):
            ask()
    for ask in (
        lambda: client.encrypt(X, precision="high"),
        lambda: secret(X).with_precision(None),
    ):
        with pytest.raises(TypeError):
            ask()


@pytest.mark.parametrize("factor", [2, -3, 0.5, 0.375, 1024, 2.0**-12])
def test_exact_factors_take_only_the_bits_they_have(client, secret, factor):
    encrypted = secret(X)
    product = encrypted * factor
    spent = encrypted.capacity_bits - product.capacity_bits
    places = next(k for k in range(13) if (factor * 2**k) % 1 == 0)
    assert spent <= places + max(0.0, np.log2(abs(factor))) + 0.1
    np.testing.assert_allclose(client.decrypt(product), X * factor, atol=1e-6 * max(1, abs(factor)))
    np.testing.assert_allclose(
        client.decrypt(product + encrypted), X * factor + X, atol=1e-6 * max(1, abs(factor))
    )
    np.testing.assert_allclose(
        client.decrypt(product * encrypted), X * factor * X, atol=1e-5 * max(1, abs(factor))
    )


def test_bounds_that_do_not_fit_are_refused(client, secret):
    x = secret([1.0, 2.0])
    for declare in (x.with_bound, lambda bound: client.encrypt([1.0, 2.0], bound=bound)):
        with pytest.raises(
            ArgumentError, match=r"values up to 1e300 need .* bits more than the modulus has. Scale"
        ):
            declare(1e300)
        assert declare(1e9).capacity_bits > 0


def test_bounds_of_complex_numbers_are_their_absolute_values(client):
    for values in np.random.default_rng(3).uniform(-2, 2, (200, 1, 2)) @ [1, 1j]:
        largest = np.abs(values).max()
        assert client.encrypt(values, bound=largest).bound == largest
    with pytest.raises(ArgumentError, match="outside the interval"):
        client.encrypt([1.0 + 1e-12], bound=1.0)


def test_weights_and_choices_of_precise_numbers_are_no_less_precise(client, server):
    def exactly(parts):
        return Fraction(parts[0]) * Fraction(2) ** parts[1]

    values = [0.5, -1.0, 2.0]
    weights = [Decimal(".1"), Decimal(".3"), Decimal(".7")]
    condition = server.load(client.encrypt([1.0, 0.0], precision=60))
    shares = [Fraction(w) for w in weights]
    mean = sum(Fraction(x) * w for x, w in zip(values, shares, strict=True)) / sum(shares)
    results = [
        (
            np.average(server.load(client.encrypt(values, precision=60)), weights=weights),
            [mean],
            55,
        ),
        (np.where(condition, 1e6, 0.1), [Fraction(10**6), Fraction(0.1)], 35),
        (
            TRAPEZOID(server.load(client.encrypt(np.ones(5), precision=60)), dx=Fraction(1, 3)),
            [Fraction(4, 3)],
            45,
        ),
    ]
    for got, want, least in results:
        assert got.precision_bits > least
        errors = np.ravel(client.decrypt(got, dtype=exactly)) - np.array(want, dtype=object)
        assert max(abs(errors)) < 8 * 2**-got.precision_bits


@pytest.mark.parametrize("weights", [[2**60 + 1, -(2**60)], np.array([2**60 + 1, -(2**60)])])
def test_weights_that_nearly_cancel_are_weights(client, secret, weights):
    values = [0.5, 0.5 - 2.0**-50]
    want = sum(Fraction(x) * int(w) for x, w in zip(values, weights, strict=True))
    got = np.average(secret(values, precision=60), weights=weights)
    assert abs(client.decrypt(got) - float(want)) < 8 * 2.0**-got.precision_bits


@pytest.mark.parametrize("count", [2**62, 2**33, [1, 2**62, 1]])
def test_more_repetitions_than_an_array_has_room_for_are_refused(secret, count):
    with pytest.raises(hippocrene.ShapeError, match=r"repeat: [0-9]+ elements, an array has up to"):
        secret([1.0, 2.0, 3.0]).repeat(count)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (np.float32(1e6), np.float32(0.1)),
        (np.uint8(1), np.uint8(2)),
        (True, False),
        (np.int8(100), np.int8(-100)),
    ],
)
def test_choices_between_narrow_numbers_are_those(client, secret, x, y):
    np.testing.assert_allclose(
        client.decrypt(np.where(secret([1.0, 0.0]), x, y)), np.where([1, 0], x, y), atol=1e-2
    )


def test_few_elements_may_be_repeated_often(client, secret):
    counts = [0] * 7 + [3000]
    np.testing.assert_allclose(
        client.decrypt(secret(np.arange(8) / 8).repeat(counts)), np.full(3000, 0.875), atol=1e-4
    )


def test_large_values_times_small_numbers_are_as_precise_as_asked(client, server):
    values = np.array([1e9, 5e8, -7e8])
    x = server.load(client.encrypt(values, precision=12))
    for product in (x * 1e-9, x / np.full(3, 1e9), x @ (np.eye(3) * 1e-9)):
        np.testing.assert_allclose(client.decrypt(product), values * 1e-9, atol=2.0**-10)
    for power in (x * 2.0**-30, x / 2**30):
        np.testing.assert_allclose(client.decrypt(power), values * 2.0**-30, atol=2.0**-20)
    income = np.array([3e4, 7e4, 5e4])
    cubes = server.load(client.encrypt(income)) ** 3 * 1e-13
    np.testing.assert_allclose(client.decrypt(cubes), income**3 * 1e-13, rtol=1e-6)
    wide = np.random.default_rng(1).lognormal(13, 1, (500, 3))
    variance = server.load(client.encrypt(wide)).var(axis=0) / wide.var(axis=0)
    np.testing.assert_allclose(client.decrypt(variance), np.ones(3), atol=1e-5)


def test_means_of_low_precision_are_as_precise(client, server):
    values = np.full(8000, 2020.5)
    for precision in (6, 14, 32):
        mean = server.load(client.encrypt(values, precision=precision)).mean()
        assert abs(client.decrypt(mean) - 2020.5) < 2.0 ** (1 - precision)


@pytest.mark.parametrize(
    "kind", [np.polynomial.Polynomial, np.polynomial.Hermite, np.polynomial.Laguerre]
)
def test_fits_on_domains_far_from_zero(client, server, kind):
    years = np.linspace(1980, 2020, 50)
    fit = kind.fit(years, np.sin((years - 2000) / 10), 7)
    x = server.load(client.encrypt(years, interval=(1980, 2020)))
    np.testing.assert_allclose(client.decrypt(x.polynomial(fit)), fit(years), atol=1e-6)
    # Beyond its domain, as numpy does.
    narrow = kind.fit([0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 2.0, 1.0], 3)
    beyond = np.array([-3.5, 0.5, 4.0])
    result = server.load(client.encrypt(beyond)).polynomial(narrow)
    np.testing.assert_allclose(client.decrypt(result), narrow(beyond), atol=1e-5)


def test_powers_of_values_beyond_one():
    client = hippocrene.Client.generate("n15")
    server = hippocrene.Server(client.evaluation_keys(rotations=[]))
    values = np.linspace(-8, 8, 33)
    x = server.load(client.encrypt(values))
    exponential = [1 / math.factorial(k) for k in range(21)]
    cosine = [(0, 1, 0, -1)[(k + 1) % 4] / math.factorial(k) for k in range(21)]
    for series in (exponential, cosine):
        result = x.polynomial(series)
        expected = np.polynomial.polynomial.polyval(values, series)
        np.testing.assert_allclose(client.decrypt(result), expected, atol=1e-6)
        assert result.precision_bits > 20
        assert result.precision == x.precision
    # Where nothing is gained it is as it was.
    assert (x.polynomial([1, 2, 3]) - (3 * x * x + 2 * x + 1)).precision_bits > 20


@pytest.mark.parametrize("count", [5, 64, 1024])
def test_what_is_repeated_along_an_axis_is_as_precise(client, server, count):
    """Each copy adds the rounding errors in the slots between elements."""
    values = np.random.default_rng(7).uniform(-1, 1, (4, count))
    x = server.load(client.encrypt(values, precision=16))
    for centred, expected in (
        (x - x.mean(axis=1, keepdims=True), values - values.mean(axis=1, keepdims=True)),
        (x * x[:, :1], values * values[:, :1]),
        (x.var(axis=1), values.var(axis=1)),
        (np.cov(x), np.cov(values)),
    ):
        error = client.decrypt(centred) - expected
        assert math.sqrt(np.mean(error**2)) < 2.0**-14.5
        assert centred.precision == 16


def test_products_with_a_matrix_go_on_and_on():
    """A rotation of the values shrunk by 5 % makes no error larger, and copies of a short vector none either."""
    rotation = 0.95 * np.roll(np.eye(8), 1, axis=0)

    def steps(x):
        for _ in range(40):
            x = (rotation @ x).with_bound(2)
        return x

    simulation = hippocrene.simulate(
        steps, np.full(8, 0.5), preset="n15", precision=14, bootstrapping=True
    )
    assert simulation.precision_bits > 11
    np.testing.assert_allclose(simulation.result, np.full(8, 0.5 * 0.95**40), atol=1e-9)


def test_what_meets_a_mean_says_how_precise_it_is(client, server):
    values = np.random.default_rng(5).uniform(-1, 1, 1000)
    x = server.load(client.encrypt(values))
    deviations, variance = x - x.mean(), x.var()
    for got, expected in [
        (deviations, values - values.mean()),
        (variance, values.var()),
        (deviations * variance, (values - values.mean()) * values.var()),
    ]:
        error = np.sqrt(np.mean((client.decrypt(got) - expected) ** 2))
        # Copies of one number have one error, and deviations add up to zero.
        assert got.precision_bits - 3 < -np.log2(error)
        assert got.precision_bits > 27


def said(client, runs):
    """Return the root mean square of errors divided by their stated size.

    `runs` holds pairs of a result and its expected value.
    """
    off = [(client.decrypt(y) - expected) * 2**y.precision_bits for y, expected in runs]
    return float(np.sqrt(np.mean(np.square(np.abs(off)))))


def test_what_rotations_add_to_copies_does_not_cancel(client, server):
    contrasts = np.eye(8)[:, :-1] - np.eye(8)[:, 1:]
    rng = np.random.default_rng(5)
    rows, one = rng.uniform(-1, 1, (40, 8)), 0.3
    loaded = [[server.load(client.encrypt(v)) for v in (rows, one)] for _ in range(16)]
    for compute in (
        lambda x, b: (x + b) @ contrasts,
        lambda x, b: np.gradient(x + b, axis=1),
        lambda x, b: np.lib.stride_tricks.sliding_window_view(x + b, 2, axis=1) @ [1, -1],
    ):
        assert said(client, [(compute(x, b), compute(rows, one)) for x, b in loaded]) < 2


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.cumsum().sum(),
        lambda x: (np.tril(np.ones((100, 100))) @ x).sum(),
        lambda x: TRAPEZOID(x.cumsum()),
    ],
)
def test_sums_of_results_have_what_rotations_add_in_common(client, server, compute):
    rng = np.random.default_rng(6)
    values = [rng.uniform(-1, 1, 100) for _ in range(16)]
    assert (
        0.3
        < said(client, [(compute(server.load(client.encrypt(v))), compute(v)) for v in values])
        < 2.5
    )


def test_parts_of_complex_numbers_are_as_precise_as_they_say(client):
    server = hippocrene.Server(client.evaluation_keys(conjugation=True))
    z = np.exp(1j * np.linspace(0, 6, 500))
    moved = server.load(client.encrypt(z))[::-1]
    for part, expected in ((moved.real, z[::-1].real), (moved.imag, z[::-1].imag)):
        assert 0.85 < said(client, [(part, expected)]) < 1.18


def test_bounds_of_what_stands_beside_something_else_are_the_larger(client, server):
    rng = np.random.default_rng(7)
    values, mask = rng.uniform(0.9, 1, (16, 4)), rng.random((16, 4)) < 0.7
    x = server.load(client.encrypt(values))
    product = x.prod(axis=0, where=mask)
    assert product.bound == pytest.approx(1)
    assert np.abs(client.decrypt(product) - values.prod(axis=0, where=mask)).max() < 1e-7
    for y in (
        np.where(mask, x, x * 0.5),
        np.where(mask, x, 0.5),
        np.select([mask], [x], -0.5),
        np.concatenate([x, np.ones((2, 4))]),
        np.insert(x, 1, 0.5, axis=0),
        np.pad(x, 1, constant_values=0.5),
    ):
        assert y.bound == pytest.approx(1)
    assert np.where(mask, x, 3.0).bound == pytest.approx(3)


@pytest.fixture(scope="module")
def small() -> tuple[hippocrene.Client, hippocrene.Server]:
    client = hippocrene.Client.generate("n13", precision=24)
    return client, hippocrene.Server(client.evaluation_keys())


@pytest.mark.parametrize("count", [8, 16, 256])
@pytest.mark.parametrize("ddof", [0, 1])
def test_variances_are_off_by_as_much_as_they_say(small, count, ddof):
    client, server = small
    rng, runs, squares, stated = np.random.default_rng(1), 40, 0.0, 0.0
    for _ in range(runs):
        x = rng.choice([-1.0, 1.0], count)
        variance = server.load(client.encrypt(x)).var(ddof=ddof)
        squares += float(client.decrypt(variance) - x.var(ddof=ddof)) ** 2
        stated = 2.0**-variance.precision_bits
    # With 40 errors, the measured standard deviation is 0.5 to 1.6 times the true one, except with
    # a probability of about 10^-6. The true one is 0.4 to 0.8 times the stated one, which holds for
    # the worst values.
    assert 0.2 * stated <= math.sqrt(squares / runs) <= 1.3 * stated


def test_variances_of_columns_and_covariances_are_off_by_less_than_they_say(client, secret):
    x = np.random.default_rng(2).choice([-1.0, 1.0], (64, 8))
    encrypted = secret(x)
    for got, want in (
        (encrypted.var(axis=0), x.var(axis=0)),
        (encrypted.var(axis=1), x.var(axis=1)),
        (np.cov(encrypted.T), np.cov(x.T)),
    ):
        measured = math.sqrt(np.mean((client.decrypt(got) - want) ** 2))
        assert measured <= 1.3 * 2.0**-got.precision_bits
