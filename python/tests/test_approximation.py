from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Chebyshev

import hippocrene
from hippocrene import Approximation, approximate

FUNCTIONS = {
    "tanh": (np.tanh, (-4, 4), 15),
    "exp": (np.exp, (-1, 2), 7),
    "kink": (lambda x: abs(x - 0.25), (-1, 1), 31),
    "pole": (lambda x: 1 / (1 + 25 * x * x), (-1, 1), 40),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_error_is_what_is_seen(name):
    function, domain, degree = FUNCTIONS[name]
    have = approximate(function, domain=domain, degree=degree)
    x = np.linspace(*domain, 20001)
    seen = np.abs(have(x) - function(x)).max()
    # The stated error at a kink is larger, since polynomials converge slowly there.
    assert seen <= have.error <= (1.25 if name == "kink" else 1.06) * seen
    assert have.degree == degree
    assert have.domain == domain
    assert isinstance(have.series, Chebyshev)
    np.testing.assert_array_equal(have.series.coef, have.coefficients)
    # It is better than interpolation at the nodes.
    nodes = Chebyshev.interpolate(np.vectorize(function), degree, domain=domain)
    assert seen <= np.abs(nodes(x) - function(x)).max()


def test_the_least_degree_with_an_error():
    have = approximate(np.exp, domain=(-1, 2), error=1e-4)
    assert have.error <= 1e-4 < approximate(np.exp, domain=(-1, 2), degree=have.degree - 1).error
    # It is known then, and no smaller than where it is taken from values.
    known = approximate(
        np.exp, domain=(-1, 2), degree=have.degree, derivative=(12, float(np.exp(2)))
    )
    assert 0.98 * have.error <= known.error <= 1.1 * have.error
    assert approximate(lambda _: 2.0, domain=(0, 1), error=1e-9).degree == 0


def test_odd_and_even_functions_have_half_of_the_coefficients():
    assert not approximate(np.sin, domain=(-3, 3), degree=8).coefficients[::2].any()
    assert not approximate(np.cos, domain=(-3, 3), degree=8).coefficients[1::2].any()


def test_at_encrypted_values(secret, client):
    tanh = approximate(np.tanh, domain=(-4, 4), error=0.02)
    values = np.random.default_rng(3).uniform(-4, 4, (5, 7))
    for y in (tanh(secret(values)), secret(values).polynomial(tanh)):
        assert y.shape == (5, 7)
        assert np.abs(client.decrypt(y) - np.tanh(values)).max() <= tanh.error + 2 ** (
            4 - y.precision_bits
        )
    np.testing.assert_allclose(client.decrypt(tanh(secret(values))), tanh(values), atol=1e-4)
    with pytest.raises(hippocrene.ArgumentError, match="interval"):
        tanh(secret(values).with_bound(8))


def test_it_says_what_it_is():
    assert repr(approximate(np.exp, domain=(-1, 1), degree=3)).startswith(
        "Approximation(degree=3, domain=(-1, 1), error=0.005"
    )
    # Changing a returned array does not change the approximation.
    have = approximate(np.exp, domain=(-1, 1), degree=3)
    have.coefficients[:] = 0.0
    assert have(0.0) != 0.0


def test_what_the_function_raises_is_raised():
    def fail(x: float) -> float:
        raise KeyError(x)

    with pytest.raises(KeyError):
        approximate(fail, domain=(-1, 1), degree=3)
    with pytest.raises(hippocrene.ArgumentError, match="the function is nan at"):
        approximate(lambda _: float("nan"), domain=(-1, 1), error=0.1)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"domain": (-1, 1)}, hippocrene.ArgumentError, "either"),
        ({"domain": (-1, 1), "degree": 3, "error": 0.1}, hippocrene.ArgumentError, "either"),
        ({"domain": (-1, 1), "degree": 256}, hippocrene.ArgumentError, "degree is 256"),
        ({"domain": (-1, 1), "error": 0}, hippocrene.ArgumentError, "above 0"),
        (
            {"domain": (0, np.inf), "degree": 3},
            hippocrene.ArgumentError,
            "the domain from 0 to inf is not an interval",
        ),
        (
            {"domain": (1, -1), "degree": 3},
            hippocrene.ArgumentError,
            "the domain from 1 to -1 is not an interval",
        ),
        (
            {"domain": (0, 1j), "degree": 3},
            TypeError,
            "an end of a domain is a number, not complex",
        ),
        ({"domain": 3, "degree": 3}, TypeError, "a domain is two numbers"),
        ({"domain": ("a", "b"), "degree": 3}, TypeError, "an end of a domain is a number"),
        ({"domain": (-1, 1), "degree": 3, "derivative": 2}, TypeError, "an order and a bound"),
        (
            {"domain": (-1, 1), "degree": 3, "derivative": (0, 1.0)},
            hippocrene.ArgumentError,
            "order is 0",
        ),
        (
            {"domain": (-1, 1), "degree": 3, "derivative": (1, -1.0)},
            hippocrene.ArgumentError,
            "not negative",
        ),
        ({"domain": (-2, 1), "error": 1e-3}, hippocrene.ArgumentError, "the function jumps"),
    ],
)
def test_what_makes_no_sense_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        approximate(np.sign, **options)


def test_only_functions_are_approximated_and_only_numbers_take_them():
    with pytest.raises(TypeError, match="takes a function"):
        approximate([1.0, 2.0], domain=(-1, 1), degree=3)
    exp = approximate(np.exp, domain=(-1, 1), degree=3)
    assert isinstance(exp, Approximation)
    with pytest.raises(TypeError, match=r"use x\.polynomial for a"):
        hippocrene.polyval(exp, 0.0)
    integers = hippocrene.Client.generate("n13", scheme="bgv", plain_modulus=65537)
    server = hippocrene.Server(integers.evaluation_keys(rotations=[]))
    with pytest.raises(TypeError, match="a Approximation has doubles"):
        exp(server.load(integers.encrypt([1, 2])))


@pytest.mark.parametrize("value", [None, "1", 1j, [1.0], np.ma.masked], ids=repr)
def test_functions_that_return_no_numbers_are_told_so(value):
    with pytest.raises(TypeError, match="a value of the function is a number, not"):
        approximate(lambda _: value, domain=(0, 1), degree=3)
    with pytest.raises(TypeError, match="a value of the function is a number, not"):
        hippocrene.simulate(lambda x: x.apply(lambda _: value), [0.5], preset="n15", tables=True)


def test_values_off_the_interval_are_found():
    root = approximate(np.sqrt, domain=(1, 4), error=0.1)
    for value, known in ((0.0, "from 0 to 4"), (-4.0, "from -4 to 4")):
        x = np.array([4.0, value])
        with pytest.raises(
            hippocrene.ArgumentError,
            match=f"values {known} are possible, and the domain is from 1 to 4",
        ):
            hippocrene.simulate(lambda x: x.polynomial(root), x, preset="n13")
        # A false declaration is reported where the values are known, which is in a simulation.
        with pytest.raises(
            hippocrene.ArgumentError, match=f"a value of {value:g} does not lie from 1 to 4"
        ):
            hippocrene.simulate(lambda x: x.with_interval((1, 4)).polynomial(root), x, preset="n13")
    told = hippocrene.simulate(
        lambda x: x.with_interval((1, 4)).polynomial(root), np.array([1.0, 4.0]), preset="n13"
    )
    np.testing.assert_allclose(told.result, [1, 2], atol=0.1)
    client = hippocrene.Client.generate("n13")
    z = hippocrene.Server(client.evaluation_keys(conjugation=True)).load(
        client.encrypt([1.5, 2 + 1j], bound=4)
    )
    with pytest.raises(
        hippocrene.ArgumentError, match="the array is complex, and a Chebyshev polynomial"
    ):
        z.polynomial(root)
    real = z.real.with_interval((1, 4))
    np.testing.assert_allclose(client.decrypt(real.polynomial(root)), np.sqrt([1.5, 2]), atol=0.1)


@pytest.mark.parametrize(("bound", "degree"), [(0.1, 24), (0.1, 31), (0.25, 63), (1e-3, 7)])
def test_small_values_are_computed_with_in_a_unit(client, server, bound, degree):
    """Their powers would be rounded away, and the rounding errors meet large coefficients."""
    x = np.random.default_rng(1).uniform(-bound, bound, 1000)
    encrypted = server.load(client.encrypt(x, bound=bound))
    coefficients = np.cos(np.arange(degree + 1)) / bound ** np.arange(degree + 1)
    want = np.polynomial.Polynomial(coefficients)(x)
    got = encrypted.polynomial(coefficients)
    assert got.precision_bits > 8
    assert abs(client.decrypt(got) - want).max() < 8 * 2**-got.precision_bits


@pytest.mark.parametrize(
    ("function", "place"), [(np.sign, "0"), (np.floor, "[01]"), (lambda x: float(x > 0.3), "0.3")]
)
@pytest.mark.parametrize("how", [{"degree": 255}, {"degree": 20}, {"error": 0.1}])
def test_functions_that_jump_are_refused(function, place, how):
    with pytest.raises(
        hippocrene.ArgumentError, match=rf"jumps by 1 at {place}, .*Use comparisons, such as x > y"
    ):
        approximate(function, domain=(-0.5, 1.4), **how)


def test_an_error_larger_than_the_range_of_the_function_is_refused():
    with pytest.raises(
        hippocrene.ArgumentError, match=r"larger than .* by which the function varies"
    ):
        approximate(lambda x: np.sin(1e6 * x), domain=(-1, 1), degree=8)
    assert approximate(np.abs, domain=(-1, 1), degree=20).error < 0.02
    assert approximate(np.sqrt, domain=(0, 1), degree=63).error < 0.01
