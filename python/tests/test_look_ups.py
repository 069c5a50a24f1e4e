"""Look-up tables: errors, and one run at real parameters, in half a minute with several GiB of memory."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from distributed import Client as DaskClient
from distributed import LocalCluster

from hippocrene import (
    ArgumentError,
    CapacityError,
    Client,
    EncryptedArray,
    EvaluationKeys,
    LookUps,
    MissingKeyError,
    ParameterError,
    Server,
    ShapeError,
    simulate,
)
from hippocrene.distributed import Cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

# Dask's own.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("large")]


def served(path: Path) -> Server:
    """Make the server of a worker, with two threads that share the look-ups."""
    return Server(EvaluationKeys.load(path), threads=2)


def sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def looked_up(server: Server, x: EncryptedArray) -> list[EncryptedArray]:
    loaded = server.load(x)
    return [loaded.sigmoid(), loaded[0].max()]


def test_functions_of_values(capsys, tmp_path):
    client = Client.generate("n15")
    lines = {"min": lambda x: x.min(), "pool": lambda x: x.max_pool(2)}
    simulations = {
        name: simulate(program, [2.0, -7.5, 5.0, 0.5], preset="n15", bound=8.0, tables="lut11")
        for name, program in lines.items()
    }
    keys = client.evaluation_keys(for_=simulations["min"])
    keys.save(tmp_path / "keys")
    stored = (tmp_path / "keys").stat().st_size
    server = Server(keys, threads=2)
    del keys
    assert (server.tables, server.bootstrapping, server.bits) == ("lut11", False, False)

    values = np.array([[-7.5, -2.0, 0.5], [1.25, 3.0, 7.0]])
    x = server.load(client.encrypt(values, bound=8.0))
    # In 25 runs, the standard deviations of single values were at most 0.003 and 0.018. More than
    # 15 of them are allowed.
    for y, expected, error in (
        (x.apply(sigmoid, look_ups=3), 1 / (1 + np.exp(-values)), 0.1),
        (x.apply(lambda v: max(v, 0.0) + 1), np.maximum(values, 0) + 1, 0.3),
        # By a polynomial.
        (x.sigmoid(), 1 / (1 + np.exp(-values)), 0.001),
        # The standard deviation of 64 values is 0.00017.
        (x.sigmoid(precise=True), 1 / (1 + np.exp(-values)), 0.003),
    ):
        assert y.shape == (2, 3)
        assert np.max(abs(client.decrypt(y) - expected)) < error

    # Small slopes and values, which only leave the error of repacking.
    for small in (lambda v: 1e-8 * max(v, 0.0), lambda v: 1e-8 * np.exp(v / 8)):
        y = x.apply(small, precise=True)
        assert (
            np.max(abs(client.decrypt(y) - [[small(v) for v in row] for row in values]))
            < 16 * 2**-y.precision_bits
        )

    # In a process of its own, bit for bit the same.
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as workers,
        DaskClient(workers) as dask_client,
        Cluster(dask_client, functools.partial(served, tmp_path / "keys")) as cluster,
    ):
        elsewhere = cluster.map(looked_up, [x])[0]
    assert [y.to_bytes() for y in elsewhere] == [y.to_bytes() for y in looked_up(server, x)]

    for f, error in (
        (lambda x: np.sort(x), 1.9),
        (lambda x: np.sort(x, axis=0), 1.9),
        (lambda x: np.sort(x, axis=None), 1.9),
        (lambda x: np.max(x, axis=1), 1.9),
        (lambda x: np.minimum.reduce(x), 1.9),
        (lambda x: np.median(x, axis=-1, keepdims=True), 1.9),
        (lambda x: np.quantile(x, [0.25, 1.0], axis=1), 1.9),
        (lambda x: np.percentile(x, 30, keepdims=True), 1.9),
        (lambda x: np.quantile(x, [[0.5], [0.0]], axis=-2, keepdims=True, method="linear"), 1.9),
        (lambda x: np.argsort(x, axis=0), 0.1),
        (lambda x: np.argsort(x, axis=None, kind="stable"), 0.1),
        (lambda x: np.sort(x[:, :2], kind="stable"), 1.9),
        (lambda x: np.partition(x[:, :2], 1), 1.9),
        (lambda x: np.argsort(x[:, :2], kind="quicksort"), 0.1),
        (lambda x: np.argmax(x, axis=0), 0.1),
        (lambda x: np.argmin(x, keepdims=True), 0.1),
        (lambda x: np.ptp(x[:1, :2], axis=1), 1.9),
    ):
        expected, y = f(values), f(x)
        assert y.shape == np.shape(expected)
        np.testing.assert_allclose(client.decrypt(y), expected, atol=error)
    np.testing.assert_allclose(client.decrypt(x.top_k(1, axis=0)), [values.max(axis=0)], atol=1.9)
    with pytest.raises(ShapeError, match="axis 2 is out of range"):
        x.sort(axis=2)

    # A single value is the first one.
    for one, f in ((x[:1, :1], np.argsort), (x[:, :1], np.argmax), (x[:1], np.argmin)):
        options = {"axis": 0 if f is np.argmin else 1}
        zeros = client.decrypt(f(one, **options))
        np.testing.assert_array_equal(zeros, f(values[: one.shape[0], : one.shape[1]], **options))
    assert client.decrypt(np.argsort(x[0, 0], axis=None)).tolist() == [0]

    # Equal values are in any order, each place once; and no quantile but those in the data is asked
    # for.
    equal = np.array([2.0, -3.0, 2.0, 2.0])
    y = server.load(client.encrypt(equal, bound=8.0))
    places = client.decrypt(y.argsort())
    np.testing.assert_allclose(np.sort(places), np.arange(4), atol=0.1)
    assert round(places[0]) == 1
    np.testing.assert_allclose(client.decrypt(y.percentile([100, 0])), [2.0, -3.0], atol=1.9)
    with pytest.raises(ShapeError, match=r"kth\(=4\) out of bounds"):
        np.partition(y, 4)
    for wrong, match in (
        (lambda: np.quantile(y, 1.5), r"quantile: q holds 1\.5: numbers from 0 to 1 are possible"),
        (lambda: y.percentile([50, np.nan]), "percentile: q holds nan: numbers from 0 to 100"),
        (lambda: y.quantile([]), "q holds nothing"),
        (lambda: np.quantile(y, 0.5, method="nearest"), "method is 'nearest'"),
        (lambda: np.argsort(y, kind="bubblesort"), "argsort: there is no kind 'bubblesort'"),
        (lambda: y.sort(kind="bubblesort"), "sort: there is no kind 'bubblesort'"),
    ):
        with pytest.raises(ArgumentError, match=match):
            wrong()

    line = server.load(client.encrypt([2.0, -7.5, 5.0, 0.5], bound=8.0))
    # Half of the index on the circle of differences: deviations of 0.03 and 0.02; of the median,
    # 0.2.
    for y, expected in (
        (
            line.maximum(server.load(client.encrypt([-1.0, 3.0, 5.0, 4.0], bound=8.0))),
            [2.0, 3.0, 5.0, 4.0],
        ),
        (line.minimum(1.0), [1.0, -7.5, 1.0, 0.5]),
        (line.median(), 1.25),
    ):
        np.testing.assert_allclose(client.decrypt(y), expected, atol=1.9 if y.ndim == 0 else 0.3)
    # Seven deviations of 25 runs, before rounds had room: 0.13 for two numbers, 0.27 for four.
    # The nearest of the other numbers is 3 away.
    for name, expected, error in (("min", -7.5, 1.9), ("pool", [2.0, 5.0], 0.9)):
        simulation = simulations[name]
        count = simulation.operations["look up"][0]
        capsys.readouterr()
        with server.progress(count, every=0.01):
            y = lines[name](line)
        shown = capsys.readouterr().out.splitlines()
        assert shown[-1].startswith(f"tables: {count} of {count} look-ups, ")
        assert len(shown) > 1
        assert y.shape == np.shape(expected)
        assert (simulation.precision_bits, simulation.capacity_bits) == (
            y.precision_bits,
            y.capacity_bits,
        )
        assert 0.99 < simulation.key_bytes / stored < 1.01
        np.testing.assert_allclose(simulation.result, expected, atol=0.05)
        np.testing.assert_allclose(client.decrypt(y), expected, atol=error)
    # Farther from the steps than the gap of these tables, a 59th of the bounds together.
    for y, expected in (
        (line.is_close([2.5, 5.0, 4.5, 0.0], tolerance=1.5), [1, 0, 1, 1]),
        (line.is_close([2.5, 5.0, 4.5, 0.0], tolerance=2 * line.bound), [1, 1, 1, 1]),
        (line.is_close(0.0, tolerance=np.inf), [1, 1, 1, 1]),
        (line < 1.5, [0, 1, 0, 1]),
        (line.sign(gap=0.5), [1, -1, 1, 1]),
    ):
        np.testing.assert_allclose(client.decrypt(y), expected, atol=0.02)
    with pytest.raises(ArgumentError, match=r"^is_close: a tolerance of 0\.1: these tables tell"):
        line.is_close(0.0, tolerance=0.1)
    with pytest.raises(ArgumentError, match="tables have a gap of"):
        line.sign(gap=0.01)
    with pytest.raises(ShapeError, match="windows of 3 do not fill"):
        line.max_pool(3)
    with pytest.raises(ArgumentError, match="5 of 4 numbers"):
        line.top_k(5)
    for wrong in (lambda: line.top_k(2**63), lambda: line.max_pool(2**80)):
        with pytest.raises((ArgumentError, ShapeError), match="9223372036854775807"):
            wrong()
    for wrong in (lambda: line.top_k(0), lambda: line.max_pool(-2)):
        with pytest.raises(ArgumentError, match="is less than 1"):
            wrong()
    with pytest.raises(ArgumentError, match="among 700 numbers"):
        server.load(client.encrypt(np.zeros(700), bound=8.0)).argmax()
    for domain in (3, (1, 2, 3)):
        with pytest.raises(TypeError, match="a domain is two numbers"):
            x.apply(abs, domain=domain)

    failure = ZeroDivisionError("of the function")

    def fails(_: float) -> float:
        raise failure

    with pytest.raises(ArgumentError, match=r"raises ZeroDivisionError \(of the function\) at -8"):
        x.apply(fails)
    with pytest.raises(ArgumentError, match="log is defined above 0"):
        x.log(domain=(-1, 8))
    with pytest.raises(ArgumentError, match="reciprocal is defined on either side of 0"):
        x.reciprocal(domain=(-1, 1))
    with pytest.raises(ArgumentError, match="a domain from 2 to 1"):
        x.apply(abs, domain=(2, 1))
    with pytest.raises(ArgumentError, match="1 to 4 are possible"):
        x.apply(abs, look_ups=0)
    with pytest.raises(TypeError):
        x.apply(lambda _: "one")
    with pytest.raises(ArgumentError, match="pass domain="):
        x.apply([1.0, 2.0])
    with pytest.raises(ArgumentError, match="a domain from 1 to 1"):
        x.apply([1.0, 2.0], domain=(1, 1))
    with pytest.raises(ShapeError, match="a sequence of two numbers or more"):
        x.apply([1.0], domain=(0, 1))
    with pytest.raises(TypeError, match="a function or a table of numbers, not str"):
        x.apply("abs")


def test_entries_of_tables():
    table, values = np.array([3.0, -1.0, 0.5, 2.0, 0.0]), np.array([-1.9, -1.2, 0.1, 0.8, 2.0])
    simulation = simulate(
        lambda x: x.apply(table, domain=(-2, 2)), values, bound=2.0, preset="n15", tables=True
    )
    np.testing.assert_allclose(simulation.result, [3.0, -1.0, 0.5, 2.0, 0.0], atol=0.2)


def test_values_at_the_places_of_entries_are_exact():
    """Whatever the number of entries is, and wherever they lie."""
    for table, domain in (
        ([1, 5, 2], (-1, 1)),
        ([1, 5, 2, 7, 3], (-2, 2)),
        (list(range(11, 0, -1)), (-5, 5)),
    ):
        places = np.linspace(*domain, len(table))

        def entries(x, table=table, domain=domain):
            return x.apply(table, domain=domain)

        simulation = simulate(entries, places, bound=domain[1], preset="n15", tables=True)
        np.testing.assert_allclose(simulation.result, table, atol=1e-4)
        assert simulation.operations["look up"][0] == len(table)


def test_entries_that_are_no_numbers_are_named(client, server):
    x = server.load(client.encrypt([1.0, 2.0]))
    for table, match in (
        ([1, 2, np.nan, 4], "entry 2 of the table is nan"),
        ([-np.inf, 0], "entry 0 of the table is -inf"),
    ):
        with pytest.raises(ArgumentError, match=f"^apply: {match}: finite numbers"):
            x.apply(table, domain=(-1, 1))


def test_answers_that_follow_from_intervals_take_no_look_ups():
    def program(x):
        zeros = x * 0
        return [
            zeros.max(),
            (zeros + 0.5).min(axis=0),
            x.is_close(3, tolerance=0.5),
            x.is_close(0, tolerance=2),
            zeros > 0,
            zeros >= 0,
        ]

    simulation = simulate(
        program, [[0.5, -0.5], [1.0, 0.25]], preset="n15", bound=1.0, tables="lut11"
    )
    assert "look up" not in simulation.operations
    for result, truth in zip(simulation.result, (0, 0.5, 0, 1, 0, 1), strict=True):
        np.testing.assert_allclose(result, np.full(np.shape(result), truth), atol=1e-6)
    assert [np.shape(result) for result in simulation.result[:3]] == [(), (2,), (2, 2)]


@pytest.mark.parametrize(
    "order",
    [
        lambda x: np.sort(x, axis=1),
        lambda x: np.argsort(x, axis=0),
        lambda x: np.argsort(x, axis=None),
        lambda x: np.argmax(x, axis=0),
        lambda x: np.argmin(x),
        lambda x: np.median(x),
        lambda x: np.quantile(x, [0.2, 0.7], axis=0),
        lambda x: np.ptp(x, axis=1),
    ],
)
def test_constants_are_in_order_without_look_ups(order):
    constant = simulate(
        lambda x: order(x * 0 + 0.5), np.ones((3, 4)), preset="n15", bound=1.0, tables="lut11"
    )
    assert "look up" not in constant.operations
    truth = order(np.full((3, 4), 0.5))
    assert np.shape(constant.result) == np.shape(truth)
    np.testing.assert_allclose(constant.result, truth, atol=1e-6)


@pytest.mark.parametrize("bound", [1.0, 8.0])
@pytest.mark.parametrize(("tables", "part"), [("lut11", 59), ("lut12", 118), ("lut13", 232)])
def test_gaps_of_tables_are_what_is_documented(tables, part, bound):
    """A 118th of the bound with lut12 in `EncryptedArray.sign` and `is_close`."""

    def simulated(program, values):
        return simulate(program, values, preset="n15", bound=bound, tables=tables).result

    # The gap is of the sum of the bound and the tolerance.
    tolerance = bound / (part - 1)
    simulated(lambda x: x.is_close(0.0, tolerance=1.03 * tolerance), [bound])
    with pytest.raises(ArgumentError, match=r"these tables tell \d\.\d\de-\d from 0"):
        simulated(lambda x: x.is_close(0.0, tolerance=0.97 * tolerance), [bound])


@pytest.mark.parametrize(("tables", "most"), [("lut11", 44), ("lut12", 82), ("lut13", 109)])
def test_as_many_places_are_sorted_as_is_documented(tables, most):
    def places(x):
        return x.argsort()

    for count in (most + 1, 300):
        with pytest.raises(
            ArgumentError, match=f"^argsort: among {count} numbers: .* the ranks of {most} are told"
        ):
            simulate(places, np.zeros(count), preset="n15", bound=1, tables=tables)
    simulation = simulate(places, np.linspace(1, -1, most), preset="n15", bound=1, tables=tables)
    assert simulation.operations["look up"][0] == most * (3 * most - 1) // 2


def test_a_domain_has_to_hold_the_interval_of_the_values():
    values = np.array([9.0, 15.0, -9.0])
    for compute in (
        lambda x: x.apply(lambda v: v * v, domain=(-8, 8)),
        lambda x: x.apply(np.tanh, domain=(-16, 15), precise=True),
        lambda x: x.apply([1, 2, 3], domain=(0, 16)),
        lambda x: x.sigmoid(domain=(-8, 8)),
    ):
        with pytest.raises(
            ArgumentError,
            match=r"the values are from -16 to 16, but the domain is from .*with_interval",
        ):
            simulate(compute, values, bound=16, preset="n15", tables=True)

    def declared(x):
        return x.with_bound(8).apply(lambda v: v * v, domain=(-8, 8))

    # A simulation knows that this is wrong.
    with pytest.raises(
        ArgumentError, match=r"does not lie from -8 to 8|outside the interval from -8 to 8"
    ):
        simulate(declared, values, bound=16, preset="n15", tables=True)
    simulation = simulate(declared, values / 2, bound=16, preset="n15", tables=True)
    np.testing.assert_allclose(simulation.result, values**2 / 4, atol=0.5)


def test_functions_of_one_value_are_exact_and_free():
    for compute, expected in (
        (lambda x: (x * 0).sigmoid(), 0.5),
        (lambda x: (x * 0).apply(lambda v: v + 3, precise=True), 3.0),
        (lambda x: (x * 0).apply([1, 5, 2], domain=(-1, 1)), 5.0),
    ):
        simulation = simulate(compute, [1.0, -2.0], preset="n15", tables=True)
        np.testing.assert_allclose(simulation.result, expected, atol=1e-9)
        assert simulation.tables is None
        assert (
            simulation.capacity_bits
            > simulate(lambda x: x, [1.0, -2.0], preset="n15").capacity_bits - 4
        )


def test_the_stated_error_of_a_table_is_that_of_its_steepest_place():
    """Values beside a steep step have the stated error, and others have none."""

    def steep(x):
        return x.apply(lambda v: np.tanh(1000 * v), look_ups=1)

    simulation = simulate(steep, [0.5, -0.5], bound=1.0, preset="n15", tables=True)
    assert 0.5 < 2**-simulation.precision_bits < 2


def test_deviations_of_ordinary_columns():
    """Standard deviations of very different columns by a polynomial, with and without tables."""
    rng = np.random.default_rng(0)
    values = np.c_[rng.normal(50, 0.5, 400), rng.normal(180, 13, 400)]
    for keys in ({}, {"tables": True}):
        simulation = simulate(lambda x: x.std(axis=0), values, preset="n15", **keys)
        stated = 2**-simulation.precision_bits
        # A 20th of the smaller one.
        assert stated < 0.05 * values.std(axis=0).min()
        assert np.abs(simulation.result - values.std(axis=0)).max() < stated
        assert simulation.capacity_bits > 20
        assert simulation.tables is None


def test_numbers_are_rounded_without_an_error_far_from_jumps():
    values = np.arange(-7.0, 8.0)
    for function, shift in ((np.rint, 0.0), (np.floor, 0.5), (np.ceil, 0.5), (np.trunc, 0.5)):
        simulation = simulate(function, values + shift, bound=8.0, preset="n15", tables=True)
        np.testing.assert_allclose(simulation.result, function(values + shift), atol=1e-3)


def test_how_likely_look_ups_fail_is_told(client, server):
    said = Client.generate("n15").describe_tables("lut11")
    assert (said.tables, said.slots, said.capacity) == ("lut11", 2**14, 30)
    # 2^-40 for 2^15 numbers.
    assert -60 < said.log2_failure_probability <= -41
    assert repr(said).startswith(
        "TablesDescription(tables='lut11', capacity=30.0, slots=16384, log2_failure_prob"
    )
    assert Client.generate("n15").describe_tables(LookUps(capacity=25)).capacity == 25
    with pytest.raises(ArgumentError, match="there is nothing to describe"):
        client.describe_tables(False)
    with pytest.raises(ArgumentError, match="repacking needs a modulus of"):
        client.describe_tables()
    assert server.log2_failure_probability is None
    assert "tables" not in repr(server)

    def program(x):
        told = x._server
        assert told.log2_failure_probability == said.log2_failure_probability
        assert (
            f"tables='lut11', log2_failure_probability={told.log2_failure_probability:.1f})"
            in repr(told)
        )
        return x

    simulate(program, [1.0], preset="n15", tables="lut11")


def test_what_is_not_possible_is_refused(client, server):
    x = server.load(client.encrypt([1.0, 2.0]))
    for refused in (
        lambda: x.sigmoid(precise=True),
        x.sort,
        x.argsort,
        x.argmin,
        x.argmax,
        x.max,
        x.min,
        x.median,
        lambda: x.apply(abs, look_ups=1),
    ):
        with pytest.raises(MissingKeyError, match="no keys of look-up tables"):
            refused()
    with pytest.raises(MissingKeyError, match="no keys of look-up tables"):
        x.quantile(0.5)
    for function in (np.partition, np.argpartition):
        with pytest.raises(MissingKeyError, match=f"^{function.__name__}: "):
            function(x, 1)
    with pytest.raises(
        AttributeError, match=r"no partition: use x\.sort\(\), which sorts all values$"
    ):
        x.partition(1)
    with pytest.raises(ArgumentError, match="repacking needs a modulus of"):
        client.evaluation_keys(tables=True)
    with pytest.raises(ParameterError, match="There are lut11, lut12, lut13"):
        client.evaluation_keys(tables=LookUps(tables="lut14"))
    for wrong in (lambda: client.evaluation_keys(tables=1), lambda: x.apply(3)):
        with pytest.raises(TypeError):
            wrong()


def test_ciphertexts_without_elements_are_passed_by():
    values = np.linspace(-1, 1, 80000).reshape(2, 40000)
    simulation = simulate(
        lambda x: x[:, :3].apply(np.tanh, look_ups=3), values, preset="n15", tables=True
    )
    alone = simulate(
        lambda x: x.apply(np.tanh, look_ups=3), values[:, :3], preset="n15", tables=True
    )
    assert simulation.operations["look up"][0] == alone.operations["look up"][0]
    np.testing.assert_allclose(simulation.result, np.tanh(values[:, :3]), atol=0.05)


def test_what_lacks_capacity_is_named():
    """Results of look-ups have too little for others."""
    edges = [-1, 0.5, 1]
    calls = {
        "exp": [np.exp, lambda y: y.exp(precise=True)],
        "sin": [np.sin],
        "apply": [lambda y: y.apply(np.cos)],
        "interp": [lambda y: np.interp(y, edges, [0, 1, 0])],
        "sort": [np.sort],
        "argsort": [np.argsort],
        "argmin": [np.argmin, lambda y: np.argmin(y, axis=1, keepdims=True)],
        "max": [np.max, lambda y: np.max(y, axis=0, keepdims=True)],
        "top_k": [lambda y: y.top_k(2)],
        "max_pool": [lambda y: y.max_pool(2)],
        "percentile": [lambda y: np.percentile(y, [10, 20])],
        "ptp": [np.ptp],
        "greater": [lambda y: y > 0.1, lambda y: y > y],
        "less": [lambda y: y < 0.1],
        "maximum": [lambda y: np.maximum(y, 0.2)],
        "minimum": [lambda y: np.minimum(y, y)],
        "clip": [lambda y: np.clip(y, 0.1, 0.5)],
        "abs": [abs],
        "is_close": [lambda y: y.is_close(0.5, tolerance=0.25)],
    }

    def program(x):
        y = x.apply(sigmoid, look_ups=3)
        for name, several in calls.items():
            for compute in several:
                with pytest.raises(CapacityError, match=f"^{name} needs "):
                    compute(y)
        # Sorted, but not in its shape.
        with pytest.raises(CapacityError, match=r"^percentile needs "):
            np.percentile(x, [[10, 20, 50], [75, 99, 0]], axis=0)
        return y

    simulate(
        program, np.linspace(-1, 1, 42).reshape(6, 7)[:2, :4], bound=1, preset="n15", tables="lut11"
    )


def test_functions_are_no_more_precise_than_what_they_are_of():
    values = np.linspace(-1, 1, 9)
    precision = {
        function.__name__: [
            simulate(
                lambda x, bits=bits, function=function: x.with_precision_bits(bits).apply(
                    function, look_ups=1
                ),
                values,
                bound=1.0,
                preset="n15",
                tables=True,
            ).precision_bits
            for bits in (4, 7, 30)
        ]
        for function in (np.abs, np.square, np.sinh)
    }
    for coarse, finer, fine in precision.values():
        assert finer > coarse + 2
        assert fine > finer + 1
        assert 3 < coarse < 5.5


def test_what_tables_made_goes_through_tables_again():
    values = np.linspace(-0.12, 0.12, 9)
    program: dict[str, Callable[[EncryptedArray], EncryptedArray]] = {
        "argsort": lambda x: np.argsort(np.sort(x)),
        "abs": lambda x: np.abs(x - np.median(x)),
        "sign": lambda x: np.sign(np.sort(x) + 0.045),
        "clip": lambda x: np.clip(np.sort(x), -0.05, 0.05),
        "close": lambda x: np.sort(x).is_close(0.03, tolerance=0.02),
    }
    expected = {
        "argsort": np.arange(9),
        "abs": np.abs(values),
        "sign": np.sign(values + 0.045),
        "clip": np.clip(values, -0.05, 0.05),
        "close": np.abs(values - 0.03) < 0.02,
    }
    tables = LookUps(capacity=73)
    for name, compute in program.items():
        simulation = simulate(
            compute, values, bound=0.125, preset="n15", tables=tables, bootstrapping=True
        )
        near = 0.25 if name in ("argsort", "sign", "close") else 0.01
        assert np.abs(simulation.result - expected[name]).max() < near, name
    # For precise values, a narrow gap needs polynomials.
    with pytest.raises(
        ArgumentError, match="which is enough for no gap below their bound: ask for more precision"
    ):
        simulate(
            lambda x: x.with_precision_bits(4).sign(gap=1e-4),
            values,
            bound=0.125,
            preset="n15",
            tables=True,
        )


def test_comparisons_that_bootstraps_do_not_help_go_by_tables_or_are_the_last():
    values = np.array([0.05, -0.1, 0.03, 0.7, -0.5, 0.25])
    tables = LookUps(capacity=73)
    programs: dict[
        str, tuple[Callable[[EncryptedArray], EncryptedArray], npt.NDArray[np.float64]]
    ] = {
        "twice": (lambda x: (x > 0.15) > 0.5, values > 0.15),
        "clip": (lambda x: np.clip(x > 0.15, 0.1, 0.8), np.clip(values > 0.15, 0.1, 0.8)),
        "less precise": (
            lambda x: abs((x * 0.125).with_bound(0.125).apply(np.cos, look_ups=3) - 0.5),
            np.cos(values / 8) - 0.5,
        ),
    }
    for name, (compute, expected) in programs.items():
        simulation = simulate(
            compute, values, bound=1, preset="n15", tables=tables, bootstrapping=True
        )
        assert simulation.tables is not None
        assert np.abs(simulation.result - expected).max() < 0.03, name
    # There is capacity for it, and nothing is left to be bootstrapped.
    simulation = simulate(
        lambda x: x**16 > 0.1, values + 0.3, bound=1, preset="n15", bootstrapping=True
    )
    assert simulation.bootstraps == 0
    np.testing.assert_allclose(simulation.result, (values + 0.3) ** 16 > 0.1, atol=0.01)
    # The error of numbers also counts for tables.
    for compute in (
        lambda x: x.with_precision_bits(4).sign(gap=0.1),
        lambda x: x.with_precision_bits(4).is_close(0, tolerance=0.05),
    ):
        with pytest.raises(ArgumentError, match=r"with the error of these|needs values with"):
            simulate(compute, values, bound=1, preset="n15", tables=True)


@pytest.mark.parametrize("preset", ["n13", "n15s", "bits16"])
def test_presets_without_room_for_tables_name_one_that_has(preset):
    with pytest.raises(
        ArgumentError,
        match=r"^look-up tables: .* a modulus of 617\.0 bits .* presets n15, n16s, n16, n17s and n17\.$",
    ):
        simulate(lambda x: x.sort(), [1.0, 2.0], preset=preset, tables=True)


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (
            lambda x: x.sort(),
            r"values up to 2 with 0\.5 bits of precision: .* more precise, or declare a wider bound",
        ),
        (
            lambda x: x.argmax(),
            r"among 8 numbers: .* numbers that are more precise relative to their bound",
        ),
    ],
)
def test_values_that_are_off_by_as_much_as_a_table_are_refused(order, words):
    def program(bound):
        return lambda x: order(x.with_bound(bound).with_precision_bits(1))

    values = np.linspace(-0.9, 0.9, 8)
    with pytest.raises(ArgumentError, match=words):
        simulate(program(1.0), values, preset="n15", bound=1.0, tables="lut12")
    simulate(program(8.0), values, preset="n15", bound=1.0, tables="lut12")


def test_of_one_number_nothing_is_looked_up():
    programs: list[Callable[[EncryptedArray], EncryptedArray]] = [
        lambda x: np.sort(x, axis=1),
        lambda x: np.quantile(x, [0.2, 0.7], axis=1),
        lambda x: np.median(x, axis=1),
        lambda x: x.max(axis=1) - x.min(axis=1),
        lambda x: x.top_k(1, axis=1),
        lambda x: x.max_pool(1),
        lambda x: x.sum(axis=0).sort(),
    ]
    values = np.linspace(-1, 1, 3).reshape(3, 1)
    client = Client.generate("n13")
    server = Server(client.evaluation_keys())
    for program in programs:
        simulation = simulate(program, values, preset="n15", tables=True)
        assert simulation.tables is None
        got = client.decrypt(program(server.load(client.encrypt(values))))
        assert np.abs(got - simulation.result).max() < 1e-6
    with pytest.raises(ArgumentError, match="2 of 1"):
        server.load(client.encrypt([1.0])).top_k(2)
