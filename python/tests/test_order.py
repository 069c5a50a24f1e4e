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
    def run(x):
        with x.server.at_distance(0.5):
            return program(x)

    simulation = simulate(run, VALUES, bound=4, preset="n15", bootstrapping=True)
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


def test_a_distance_has_to_be_declared_and_right():
    values = np.array([0.5, -0.5, 0.52, 0.5, 0.9])

    def simulated(program, distance=None):
        def run(x):
            if distance is None:
                return program(x)
            with x.server.at_distance(distance):
                return program(x)

        return simulate(run, values, bound=1, preset="n15", bootstrapping=True).result

    for program in (np.sort, np.max, np.median, lambda x: x.argsort(), lambda x: x.top_k(2)):
        with pytest.raises(
            ArgumentError, match=r"Declare it, as in `with x\.server\.at_distance\(0\.5\)"
        ):
            simulated(program)
    with pytest.raises(
        ArgumentError, match=r"^sort: the values 0\.5 and 0\.52 differ by less than"
    ):
        simulated(np.sort, 0.05)
    with pytest.raises(ArgumentError, match="the distance is -1, and it must be above 0"):
        simulated(np.sort, -1)
    assert np.abs(simulated(np.sort, 0.02) - np.sort(values)).max() < 1 / 256
    assert np.abs(simulated(lambda x: x.rank())[[1, 4]] - [0, 4]).max() < 1 / 16


@pytest.mark.parametrize(
    ("side", "counted"), [("left", lambda x, edge: x > edge), ("right", lambda x, edge: x >= edge)]
)
def test_counts_of_smaller_edges_are_those_of_searchsorted(side, counted):
    """Values lie on the edges, between them and beyond them."""
    edges, values = [-0.5, 0.0, 0.25], np.array([-1, -0.5, -0.25, 0, 0.125, 0.25, 1])
    simulation = simulate(
        lambda x: sum(counted(x, edge) for edge in edges), values, bound=1, preset="n15"
    )
    expected = np.searchsorted(edges, values, side=side)
    assert np.abs(simulation.result - expected).max() < 2**-8
