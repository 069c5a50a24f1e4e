from __future__ import annotations

import doctest
import math
import sys
from fractions import Fraction

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

import hippocrene
from hippocrene import Server, plot, simulate

X = np.linspace(-1, 1, 40)
WEIGHTS = np.outer(X, X)[:, :8]

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def simulation():
    return simulate(lambda x: np.sum(((x @ WEIGHTS) ** 2) ** 2), X)


@pytest.fixture(scope="module")
def integers():
    client = hippocrene.Client.generate("n13", scheme="bgv")
    return client, Server(client.evaluation_keys([]))


def labels(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def marks(ax):
    """The drawn values by the name in the legend."""
    return {line.get_label(): list(line.get_ydata()) for line in ax.lines}


def test_bars_are_the_times_of_the_slowest_operations(simulation):
    ax = plot.time_by_operation(simulation)
    operations = list(simulation.operations.items())
    assert len(operations) > 8
    assert labels(ax.yaxis) == [
        *(name for name, _ in operations[:8]),
        f"{len(operations) - 8} others",
    ]
    widths = [bar.get_width() for bar in ax.patches]
    assert widths[:8] == [seconds for _, (_, seconds) in operations[:8]]
    assert sum(widths) == pytest.approx(simulation.seconds)
    texts = [text.get_text() for text in ax.texts]
    assert texts[0].endswith(f"({operations[0][1][0]}x)")
    assert texts[8].endswith(f"({sum(count for _, (count, _) in operations[8:])}x)")
    assert ax.yaxis_inverted()


def test_times_of_clusters_are_drawn():
    clusters = hippocrene.clustering.EncryptedKMeans(2, max_iter=1).simulate([[0.0], [1.0], [5.0]])
    ax = plot.time_by_operation(clusters)
    assert ax.patches[0].get_width() == next(iter(clusters.operations.values()))[1]


def test_a_program_without_operations_has_no_bars():
    nothing = simulate(lambda _: 3, X, preset="n13")
    assert not nothing.operations
    assert not plot.time_by_operation(nothing).patches
    assert list(plot.capacity(nothing).patches[0].get_data().values) == []


def test_steps_are_the_capacities_along_the_program(simulation):
    ax = plot.capacity(simulation)
    steps = ax.patches[0].get_data()
    assert list(steps.values) == [bits for _, bits in simulation.capacities]
    assert labels(ax.xaxis) == [name for name, _ in simulation.capacities]
    # The name of an operation stands below the middle of its step.
    middles = (steps.edges[1:] + steps.edges[:-1]) / 2
    assert list(ax.get_xticks()) == list(middles)
    assert ax.get_ylim()[0] == 0
    assert ax.get_title() == "Capacity along the program"


def test_steps_of_integers_are_noise_budgets():
    integers = simulate(lambda x: -(x * x), np.arange(4), scheme="bgv")
    ax = plot.capacity(integers)
    assert ax.patches[0].get_data().values[-1] == integers.budget_bits
    assert ax.get_title() == "Noise budget along the program"


def test_long_programs_number_their_operations():
    def program(x):
        for i in range(40):
            x = x + i
        return x

    ax = plot.capacity(simulate(program, X))
    assert "add" not in labels(ax.xaxis)


def test_measured_errors_are_those_of_decryption(client, secret):
    x, y = secret(X, interval=(-1, 1)), secret(0.5 * X)
    arrays = {"x": x, "x * y": x * y}
    expected = {"x * y": 0.5 * X**2, "x": X}
    ax = plot.noise(client, arrays, expected)
    assert labels(ax.xaxis) == ["x", "x * y"]
    drawn = marks(ax)
    assert drawn["estimate"] == [x.precision_bits, (x * y).precision_bits]
    for i, (name, array) in enumerate(arrays.items()):
        errors = client.decrypt(array) - expected[name]
        assert 2 ** -drawn["measured, root mean square"][i] == pytest.approx(
            math.sqrt(np.mean(errors**2))
        )
        assert 2 ** -drawn["measured, largest error"][i] == pytest.approx(np.max(np.abs(errors)))


def test_errors_of_complex_values_are_those_of_both_parts(client, secret):
    right = X + 1j * X[::-1]
    z = secret(right)
    drawn = marks(plot.noise(client, {"z": z}, {"z": right}))
    errors = client.decrypt(z) - right
    both = np.concatenate([errors.real, errors.imag])
    assert 2 ** -drawn["measured, root mean square"][0] == pytest.approx(
        math.sqrt(np.mean(both**2))
    )


def test_errors_below_doubles_are_measured(client, secret):
    x = secret(X, precision=90)
    square = x * x
    exact = np.array([Fraction(value) ** 2 for value in X.tolist()])
    drawn = marks(plot.noise(client, {"x": x, "x * x": square}, {"x": X, "x * x": exact}))
    assert min(drawn["estimate"]) > 80
    assert drawn["measured, root mean square"] == pytest.approx(drawn["estimate"], abs=3)


def test_budgets_of_integers_are_estimated_and_measured(integers):
    client, server = integers
    x = server.load(client.encrypt(np.arange(5)))
    arrays = {"x": x, "x * x": x * x}
    drawn = marks(plot.noise(client, arrays))
    assert drawn["measured"] == [client.noise_budget(array) for array in arrays.values()]
    assert drawn["estimate"] == [array.budget_bits for array in arrays.values()]


def test_noise_refuses_what_it_cannot_measure(client, secret, integers, stranger):
    x = secret(X)
    owner, _ = integers
    whole = owner.encrypt(np.arange(5))
    with pytest.raises(hippocrene.ArgumentError, match="by the same names"):
        plot.noise(client, {"x": x})
    with pytest.raises(hippocrene.ArgumentError, match="by the same names"):
        plot.noise(client, {"x": x}, {"y": X})
    with pytest.raises(hippocrene.ShapeError, match=r"shape \(40,\).* \(39,\)"):
        plot.noise(client, {"x": x}, {"x": X[1:]})
    with pytest.raises(TypeError, match="integers are exact"):
        plot.noise(owner, {"x": whole}, {"x": np.arange(5)})
    with pytest.raises(TypeError, match="must hold numbers"):
        plot.noise(client, {"x": x, "whole": whole}, {"x": X, "whole": X})
    with pytest.raises(TypeError, match="must hold numbers"):
        plot.noise(client, {})
    with pytest.raises(TypeError, match="Client"):
        plot.noise(x, {"x": x}, {"x": X})
    with pytest.raises(hippocrene.KeyMismatchError):
        plot.noise(stranger, {"x": x}, {"x": X})
    assert not pyplot.get_fignums()


def test_plots_go_into_the_axes_that_are_given(client, secret, simulation):
    _, axes = pyplot.subplots(1, 3)
    assert plot.time_by_operation(simulation, ax=axes[0]) is axes[0]
    assert plot.capacity(simulation, ax=axes[1]) is axes[1]
    assert plot.noise(client, {"x": secret(X)}, {"x": X}, ax=axes[2]) is axes[2]
    assert len(pyplot.get_fignums()) == 1


def test_a_simulation_draws_time_and_capacity(simulation):
    times, capacity = simulation.plot()
    assert times.figure is capacity.figure
    assert [bar.get_width() for bar in times.patches][:8] == [
        seconds for _, seconds in list(simulation.operations.values())[:8]
    ]
    assert list(capacity.patches[0].get_data().values) == [
        bits for _, bits in simulation.capacities
    ]


@pytest.mark.parametrize("name", ["time_by_operation", "capacity"])
def test_only_simulations_are_drawn(name):
    with pytest.raises(TypeError, match="imulation"):
        getattr(plot, name)(X)


def test_without_matplotlib_the_error_says_how_to_install_it(
    monkeypatch, client, secret, simulation
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (
        lambda: plot.time_by_operation(simulation),
        lambda: plot.capacity(simulation),
        lambda: plot.noise(client, {"x": secret(X)}, {"x": X}),
        simulation.plot,
    ):
        with pytest.raises(ImportError, match=r"pip install matplotlib"):
            draw()


def test_the_examples_of_the_module_run():
    assert doctest.testmod(plot).attempted > 10
    assert doctest.testmod(plot).failed == 0
