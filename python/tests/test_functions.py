"""Tests of functions of all slots at once, by polynomials and comparisons."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.special

from hippocrene import (
    ArgumentError,
    CapacityError,
    MissingKeyError,
    Simulation,
    UnsupportedError,
    simulate,
)

# Values on [-4, 4] with both ends, zero, and the places of the jumps below.
VALUES = np.concatenate([np.linspace(-4, 4, 65), [0.01, -0.99, 1.02, 2.49]])
FAR = 8 / 512


def applied(function: Callable[[Any], Any], **options: Any) -> Simulation:
    return simulate(lambda x: x.apply(function, **options), VALUES, interval=(-4, 4), preset="n15")


def discount(amount: float) -> float:
    return 0.1 * amount if amount > 1 else -1.0


@pytest.mark.parametrize(
    ("function", "jumps"),
    [
        (math.tanh, []),
        (lambda v: max(v, 0.0), []),
        (lambda v: 1 / (1 + v * v), []),
        (discount, [1]),
        (lambda v: math.floor(v / 2), [-4, -2, 0, 2, 4]),
        (lambda _: 3.0, []),
        (lambda v: 1e6 * math.exp(v), []),
        (lambda v: 1e-6 * math.sin(v), []),
    ],
)
def test_functions_have_the_default_error(
    function: Callable[[float], float], jumps: list[float]
) -> None:
    expected = np.array([function(float(v)) for v in VALUES])
    far = np.all([np.abs(VALUES - jump) >= FAR for jump in jumps], axis=0) | np.isin(VALUES, jumps)
    simulation = applied(function)
    error = max(np.ptp(expected), 2.0**-20 * np.abs(expected).max()) / 1024
    assert np.abs(simulation.result - expected)[far].max() <= error
    # The stated error holds the error of the approximation and the noise.
    assert 2.0**-simulation.precision_bits <= 1.1 * error


def test_an_error_can_be_asked_for() -> None:
    for error in (0.1, 1e-3, 1e-6):
        simulation = applied(np.cos, error=error)
        assert np.abs(simulation.result - np.cos(VALUES)).max() <= error
    fine = applied(np.cos, error=1e-6).seconds
    assert applied(np.cos, error=0.1).seconds < fine


def test_breaks_and_gaps_can_be_named() -> None:
    expected = np.array([discount(v) for v in VALUES])
    simulation = applied(discount, breaks=[1.0], gap=0.25)
    assert np.abs(simulation.result - expected)[np.abs(VALUES - 1) >= 0.25].max() <= 1.4 / 1024
    # A wide gap is cheaper.
    assert simulation.seconds < applied(discount, gap=0.005).seconds
    with pytest.raises(ArgumentError, match=r"^apply: a break at 5 does not lie between"):
        applied(discount, breaks=[5.0])


def test_numpy_and_scipy_functions_need_no_tables() -> None:
    of_numpy: list[Callable[[Any], Any]] = [np.exp, np.tanh, np.arctan, np.expm1, np.cosh]
    for function in (*of_numpy, scipy.special.expit, scipy.special.erf):
        simulation = simulate(function, VALUES, interval=(-4, 4), preset="n14")
        expected: npt.NDArray[np.float64] = function(VALUES)
        assert np.abs(simulation.result - expected).max() <= np.ptp(expected) / 1000
    rounded = simulate(np.rint, VALUES, interval=(-4, 4), preset="n15", bootstrapping=True)
    far = np.abs(VALUES % 1 - 0.5) >= FAR
    assert np.abs(rounded.result - np.rint(VALUES))[far].max() <= 8 / 512


def test_what_cannot_be_applied_is_explained() -> None:
    def fails(_: float) -> float:
        raise ZeroDivisionError("of the function")

    with pytest.raises(ArgumentError, match=r"raises ZeroDivisionError \(of the function\) at -4"):
        applied(fails)
    with pytest.raises(KeyError):
        applied(lambda v: {}[v])
    with pytest.raises(TypeError, match="a value of the function"):
        applied(lambda v: [v, v])
    with pytest.raises(ArgumentError, match=r"^gammaln: the function is inf at -4: take a domain"):
        simulate(scipy.special.gammaln, VALUES, interval=(-4, 4), preset="n14")
    with pytest.raises(ArgumentError, match=r"^apply: the function is NaN at -4: take a domain"):
        applied(lambda v: math.nan if v < 0 else v)
    with pytest.raises(ArgumentError, match=r"^apply: the function is inf at 0: take a domain"):
        applied(lambda v: math.inf if v == 0 else 1 / v)
    with pytest.raises(ArgumentError, match=r"come within .* is needed"):
        applied(lambda v: math.sqrt(v + 4), error=1e-6)
    with pytest.raises(ArgumentError, match="more than 64 jumps or kinks"):
        applied(lambda v: math.floor(20 * v))
    with pytest.raises(ArgumentError, match="the values are from -4 to 4, but the domain is from"):
        applied(math.tanh, domain=(-1, 1))
    with pytest.raises(ArgumentError, match="an error of 0 is not above 0"):
        applied(math.tanh, error=0.0)
    with pytest.raises(ArgumentError, match="an error of -1 is not above 0"):
        applied(math.tanh, error=-1)
    with pytest.raises(ArgumentError, match=r"^apply: the gap is -1, and it must be above 0"):
        applied(math.tanh, gap=-1)
    with pytest.raises(ArgumentError, match=r"^apply: an error, breaks and a gap are for polynom"):
        applied(math.tanh, error=0.1, look_ups=2)
    with pytest.raises(TypeError, match="breaks are a list of numbers, not int"):
        applied(math.tanh, breaks=3)
    with pytest.raises(
        ArgumentError, match=r"the errors of the array, .* make errors of .* asked for"
    ):
        simulate(
            lambda x: x.with_precision_bits(9).apply(np.tanh, error=1e-4),
            VALUES,
            interval=(-4, 4),
            preset="n15",
        )
    with pytest.raises((CapacityError, MissingKeyError)):
        simulate(lambda x: x.apply(discount), VALUES, interval=(-4, 4), preset="n13")


@pytest.mark.parametrize(
    "function",
    [
        np.log,
        np.reciprocal,
        lambda x: 1 / x,
        lambda x: (2 * x - 3) / x,
        lambda x: x / (x - 5.0),
        lambda x: np.divide(np.arange(4.0), x),
    ],
)
def test_divisors_and_logarithms_use_the_interval_of_the_array(
    function: Callable[[Any], Any],
) -> None:
    values = np.array([0.5, 1.0, 2.0, 3.9])
    simulation = simulate(function, values, interval=(0.5, 4.0), preset="n15", precision=24)
    assert np.abs(simulation.result - function(values)).max() < 1e-3


def test_divisors_that_may_be_zero_are_refused() -> None:
    values = np.array([0.5, 1.0, 2.0, 3.9])

    with pytest.raises(
        UnsupportedError, match=r"^div: the divisor lies in \[-0.5, 3\], with 0, and"
    ):
        simulate(lambda x: x / (x - 1.0), values, interval=(0.5, 4.0), preset="n15")
    with pytest.raises(ArgumentError, match="log is defined above 0, but not on all of"):
        simulate(np.log, values - 1.0, preset="n15")
    with pytest.raises(UnsupportedError, match="the divisor is complex"):
        simulate(lambda x: 1 / x, values + 1j, preset="n15")


@pytest.mark.parametrize(
    ("program", "interval"),
    [
        (lambda x: 2**x, (-3, 3)),
        (lambda x: np.power(10.0, x), (-1, 1)),
        (lambda x: x**0.5, (0, 4)),
        (lambda x: x**1.5, (0.5, 3)),
        (lambda x: x**-1, (1, 4)),
        (lambda x: np.power(x, -2.0), (-4, -1)),
        (lambda x: x**2.0, (-4, 4)),
        (lambda x: x ** np.array(0.5), (0, 4)),
        (lambda x: 1**x, (-4, 4)),
        (lambda x: x[:, None] ** np.arange(4), (-2, 2)),
        (lambda x: x[:3] ** [0.5, 0, 2], (1, 4)),
        (lambda x: x[:, None] ** [2, 2, 2], (-2, 2)),
        (lambda x: x ** np.array(2.0), (-2, 2)),
        (lambda x: x[:, None] ** np.array([True, False]), (-2, 2)),
    ],
)
def test_powers_are_those_of_numpy(
    program: Callable[[Any], Any], interval: tuple[int, int]
) -> None:
    values = np.linspace(*interval, 33)
    result = simulate(program, values, interval=interval, preset="n15").result
    expected = program(values)
    assert np.abs(result - expected).max() < 2**-8 * np.ptp(expected) + 2**-8


@pytest.mark.parametrize(
    ("program", "wrong"),
    [
        (lambda x: (-2) ** x, "pow: the base is -2, and it must be above 0"),
        (lambda x: 0**x, "pow: the base is 0, and it must be above 0"),
        (lambda x: x**-1, r"pow: the divisor lies in \[-4, 4\], with 0"),
        (lambda x: x**1.5, r"pow: x \*\* 1.5 is defined from 0, but not on all of \[-4, 4\]"),
        (lambda x: x**-1.5, r"pow: x \*\* -1.5 is defined above 0, but not on all of"),
    ],
)
def test_powers_that_do_not_exist_are_refused(program: Callable[[Any], Any], wrong: str) -> None:
    with pytest.raises((ArgumentError, UnsupportedError), match=wrong):
        simulate(program, VALUES, interval=(-4, 4), preset="n15")
