"""Order by comparing all pairs: numpy's results on simulated arrays, without look-up tables."""

from __future__ import annotations

import numpy as np
import pytest

from hippocrene import ArgumentError, simulate

VALUES = np.array([[2.0, -1.0, 2.0, 0.5, -3.0], [4.0, 4.0, 4.0, -4.0, 1.0]])

# The stated errors: of values with the bound 4, of indices of five values, and of ranks.
ERROR, OF_INDICES, OF_RANKS = 4 / 512, 5 / 1024, 1 / 32


def ranked(values, axis=-1):
    return values.argsort(axis=axis, kind="stable").argsort(axis=axis, kind="stable")


@pytest.mark.parametrize(
    ("program", "expected", "error"),
    [
        (lambda x: np.sort(x), lambda v: np.sort(v), ERROR),
        (lambda x: np.sort(x, axis=0), lambda v: np.sort(v, axis=0), ERROR),
        (lambda x: x.sort(axis=None), lambda v: np.sort(v, axis=None), ERROR),
        (lambda x: x.rank(), ranked, OF_RANKS),
        (lambda x: x.argsort(), lambda v: v.argsort(kind="stable"), OF_INDICES),
        (lambda x: x.argmax(axis=1), lambda v: v.argmax(axis=1), OF_INDICES),
        (lambda x: np.argmin(x, axis=1), lambda v: v.argmin(axis=1), OF_INDICES),
        (lambda x: np.max(x, axis=0), lambda v: v.max(axis=0), ERROR),
        (lambda x: x.min(keepdims=True), lambda v: v.min(keepdims=True), ERROR),
        (lambda x: np.median(x, axis=1), lambda v: np.median(v, axis=1), ERROR),
        (
            lambda x: np.percentile(x, [10, 50], axis=1),
            lambda v: np.percentile(v, [10, 50], axis=1),
            ERROR + 8 / 4096,
        ),
        (lambda x: x.top_k(2), lambda v: np.sort(v)[:, -2:], ERROR),
        (lambda x: np.ptp(x, axis=1), lambda v: np.ptp(v, axis=1), 2 * ERROR),
    ],
)
def test_orders_are_those_of_numpy(program, expected, error):
    simulation = simulate(program, VALUES, bound=4, preset="n15", bootstrapping=True)
    assert "look up" not in simulation.operations
    expected = expected(VALUES)
    assert simulation.result.shape == expected.shape
    assert np.abs(simulation.result - expected).max() < error + 2**-9


def test_ranks_among_all_values_have_the_shape_of_the_array():
    simulation = simulate(
        lambda x: x.rank(axis=None), VALUES, bound=4, preset="n15", bootstrapping=True
    )
    assert simulation.bootstraps == 0
    expected = ranked(VALUES.ravel()).reshape(VALUES.shape)
    assert np.abs(simulation.result - expected).max() < OF_RANKS + 2**-9


def test_lines_that_are_too_long_are_refused_without_tables():
    with pytest.raises(ArgumentError, match=r"lines of 129 values: all pairs of at most 128"):
        simulate(lambda x: x.sort(), np.arange(129) / 40, bound=4, preset="n15", bootstrapping=True)


def test_three_close_values_are_refused_where_they_are_known():
    def simulated(program, values):
        return simulate(program, values, bound=1, preset="n15", bootstrapping=True).result

    close = np.array([0.5, -0.5, 0.504, 0.508, 0.9])
    with pytest.raises(ArgumentError, match=r"^sort: the values 0\.5, 0\.504 and 0\.508 differ by"):
        simulated(lambda x: x.sort(), close)
    # The results at other places are right, and so are those of two close values.
    for values, program, expected in (
        (close, lambda x: x.max(), 0.9),
        (close[:3], lambda x: x.sort(), np.sort(close[:3])),
        (np.array([0.5, 0.5, 0.5, -1.0]), lambda x: x.sort(), [-1, 0.5, 0.5, 0.5]),
    ):
        assert np.abs(simulated(program, values) - expected).max() < 0.01
