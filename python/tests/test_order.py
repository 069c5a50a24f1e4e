"""Order without look-up tables: numpy's results on simulated arrays."""

from __future__ import annotations

import numpy as np
import pytest

import hippocrene
from hippocrene import ArgumentError, CapacityError, MissingKeyError, simulate, spec

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


def test_lines_of_several_ciphertexts_are_in_order():
    values = np.arange(400) * 7 % 101 - 50.0  # with ties

    def run(x):
        with x.server.at_distance(1):
            return x.sort(), x.rank(), x.argsort()

    simulation = simulate(run, values, interval=(-50, 50), preset="n16s", bootstrapping=True)
    ordered, ranks, indices = simulation.result
    places = np.argsort(values, kind="stable")
    assert np.abs(ordered - np.sort(values)).max() < 50 / 512
    assert (np.rint(indices) == places).all()
    assert (np.rint(ranks) == np.argsort(places)).all()


def test_lines_that_are_too_long_are_refused_without_tables():
    def run(x):
        with x.server.at_distance(1 / 40):
            return x.argsort()

    with pytest.raises(ArgumentError, match=r"lines of 4097 values: all pairs of at most 4096"):
        simulate(run, np.arange(4097) / 40, bound=128, preset="n16s", bootstrapping=True)
    with pytest.raises(ArgumentError, match=r"a line of 250 values .* takes more precision"):
        simulate(run, np.arange(250) / 40, bound=8, preset="n15", bootstrapping=True)


@pytest.mark.parametrize(
    ("program", "expected", "layers"),
    [
        (lambda x: np.sort(x), lambda v: np.sort(v), 6),
        (lambda x: np.sort(x, axis=0), lambda v: np.sort(v, axis=0), 1),
        (lambda x: x.max(axis=1), lambda v: v.max(axis=1), 3),
        (lambda x: x.min(), lambda v: v.min(), 4),
        (lambda x: np.median(x, axis=1), lambda v: np.median(v, axis=1), 6),
        (lambda x: x.quantile(0.25, axis=1), lambda v: np.quantile(v, 0.25, axis=1), 6),
        (lambda x: x.top_k(2), lambda v: np.sort(v)[:, -2:], 6),
        (lambda x: np.ptp(x, axis=1), lambda v: np.ptp(v, axis=1), 6),
    ],
)
def test_close_values_are_in_order_without_a_distance(program, expected, layers):
    values = VALUES + np.array([0.0, 0.001, 0.002, -0.003, 0.0])
    simulation = simulate(program, values, bound=5, preset="n16s", bootstrapping=True)
    assert "look up" not in simulation.operations
    expected = expected(values)
    assert simulation.result.shape == expected.shape
    # A layer is wrong by about a 1000th of the interval.
    assert np.abs(simulation.result - expected).max() < layers * 10 / 1000 + 2**-9


def test_maxima_in_a_program_are_within_its_error_bound():
    rows = np.array([[30.0, 30.1, 70.0, 69.9], [50.0, 49.9, 30.0, 30.0]])

    def largest(x):
        return x.max(axis=1)

    program = hippocrene.compile(largest, spec(rows.shape, interval=(20, 80)), preset="n16s")
    assert 0 < program.error_bound < 1
    result = simulate(program, rows).result
    assert np.abs(result - rows.max(axis=1)).max() < program.error_bound


def test_comparators_take_slices_and_windows_and_say_what_they_lack():
    """Other columns are much larger than the compared one."""
    rows = np.stack([1000 + np.array([0.1, 0.2, 0.9, 0.8]), np.full(4, 2000.0)], axis=1)

    def first(x):
        return x[:, 0].with_interval((1000, 1001)).max()

    how = {"interval": (1000, 2000), "preset": "n16s", "bootstrapping": True}
    assert abs(simulate(first, rows, **how).result - 1000.9) < 0.01

    def pooled(x):
        with x.server.at_distance(0.5):
            return x.max_pool(2)

    square = np.arange(16.0).reshape(4, 4) / 4
    result = simulate(pooled, square, bound=4, preset="n16s", bootstrapping=True).result
    assert np.abs(result - square.reshape(2, 2, 2, 2).max(axis=(1, 3))).max() < 0.05
    how = {"bound": 4, "preset": "n15", "bootstrapping": True}
    largest = simulate(np.max, VALUES, **how)
    assert abs(largest.result - VALUES.max()) < 0.1
    assert largest.bootstraps > 0
    with pytest.raises(
        CapacityError, match=r"^max needs .* Declare a distance .* preset .* n16, helps"
    ):
        simulate(np.max, VALUES, **{**how, "preset": "n15s"})
    with pytest.raises(MissingKeyError, match=r"^sort: .*bootstrapping=True .*\"n16\""):
        simulate(np.sort, VALUES, bound=4, preset="n14")


def test_quantiles_between_two_values_state_the_error_of_one():
    values = np.array([0.25, -0.5, 0.75, 0.125])
    how = {"bound": 1, "preset": "n16s", "bootstrapping": True}
    both = (
        simulate(lambda x: x.median(), values, **how),
        simulate(lambda x: x.sort(), values, **how),
    )
    assert both[0].precision_bits < both[1].precision_bits + 0.1


def test_a_distance_has_to_be_declared_and_right():
    values = np.array([0.5, -0.5, 0.52, 0.5, 0.9])

    def simulated(program, distance=None):
        def run(x):
            if distance is None:
                return program(x)
            with x.server.at_distance(distance):
                return program(x)

        return simulate(run, values, bound=1, preset="n15", bootstrapping=True).result

    for program in (np.argmax, np.argmin, lambda x: x.argsort()):
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
