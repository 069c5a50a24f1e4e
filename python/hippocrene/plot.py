"""Plots of simulations, and of measured noise against its estimate.

Plots need matplotlib, which is not installed with this package: ``pip install matplotlib``.
Without it, every function here raises an `ImportError`.

Each function draws into the matplotlib axes `ax`, or into those of a new figure, and returns them.
Titles, labels and limits can then be changed as usual, and ``ax.figure.savefig("plot.png")`` writes
a file.

>>> import hippocrene
>>> simulation = hippocrene.simulate(lambda x: x**4, [0.5, -0.25], preset="n13")
>>> ax = hippocrene.plot.time_by_operation(simulation)
>>> ax.set_title("x**4")
Text(0.5, 1.0, 'x**4')
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.arrays.integers import IntegerArray
from hippocrene.arrays.numbers import NumberArray
from hippocrene.client import Client
from hippocrene.errors import ArgumentError, ShapeError
from hippocrene.figures import axes_or_new, draw_capacities, draw_times
from hippocrene.models.clustering import KMeansSimulation
from hippocrene.models.trees import TreeSimulation
from hippocrene.simulation_report import Simulation
from hippocrene.values.operands import fractions, numbers
from hippocrene.values.scalars import check_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Doubles have 53 bits, so that they measure errors of this many bits below the bound well.
_MEASURABLE_BITS = 47


def time_by_operation(
    simulation: Simulation | KMeansSimulation | TreeSimulation, *, ax: Axes | None = None
) -> Axes:
    """Draw the predicted time of each operation as a bar, in order of decreasing time.

    `simulation` is the result of `hippocrene.simulate`, or of the `simulate` methods of trees and
    clusters. The eight slowest operations have a bar each, and one more bar is for all others. The
    text beside a bar is its time and its count. Times are for one thread.

    >>> import hippocrene
    >>> simulation = hippocrene.simulate(lambda x: x * x, [1.0, 2.0], preset="n13")
    >>> ax = hippocrene.plot.time_by_operation(simulation)
    """
    kinds = Simulation | KMeansSimulation | TreeSimulation
    check_type(simulation, kinds, "time is drawn for the result of a simulation")
    return draw_times(simulation.operations, ax)


def capacity(simulation: Simulation, *, ax: Axes | None = None) -> Axes:
    """Draw the capacity of the result of each operation along a simulated program.

    `Simulation.capacities` holds the values, and says which operations it lists. For integers they
    are noise budgets. Products use up capacity, and bootstraps restore it.

    >>> import hippocrene
    >>> simulation = hippocrene.simulate(lambda x: (x * x + 1) ** 2, [0.5, 0.25], preset="n13")
    >>> ax = hippocrene.plot.capacity(simulation)
    """
    check_type(simulation, Simulation, "capacity is drawn for a Simulation")
    return draw_capacities(simulation.capacities, simulation.plain_modulus, ax)


def noise(
    client: Client,
    arrays: Mapping[str, EncryptedArray],
    expected: Mapping[str, npt.ArrayLike] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the measured noise of encrypted arrays next to its estimate, both in bits.

    `arrays` holds the arrays by name, in the order of the plot. The client decrypts them to measure
    their noise.

    - For numbers, `expected` holds the right values, by the same names. The plot shows the
      precision in bits after the binary point: the estimate `precision_bits`, and ``-log2`` of the
      root mean square error and of the largest error. The estimate is for the worst values that the
      interval allows, so that most measured errors are smaller, which is higher in the plot.
    - For integers there is no `expected`. The plot shows the estimate `budget_bits`, and the
      measured `Client.noise_budget`.

    A value that is unknown or infinite, such as the precision of an array without any error, is not
    drawn.

    Measured noise depends on the secret key. Show the plot to nobody but the client (see
    `Client.decrypt`).

    >>> import hippocrene
    >>> client = hippocrene.Client.generate("n13")
    >>> server = hippocrene.Server(client.evaluation_keys([]))
    >>> x = server.load(client.encrypt([0.5, -0.25, 1.0]))
    >>> arrays = {"x": x, "x * x": x * x}
    >>> expected = {"x": [0.5, -0.25, 1.0], "x * x": [0.25, 0.0625, 1.0]}
    >>> ax = hippocrene.plot.noise(client, arrays, expected)
    """
    check_type(client, Client, "noise is measured by a Client")
    kinds = {type(array) for array in arrays.values()}
    if kinds == {IntegerArray}:
        if expected is not None:
            raise TypeError("noise: integers are exact, so that no values are expected")
        title, label = "Noise budget", "bits of noise budget"
        estimate = [array.budget_bits for array in arrays.values()]
        measured = {"measured": [client.noise_budget(array) for array in arrays.values()]}
    elif kinds == {NumberArray}:
        if expected is None or expected.keys() != arrays.keys():
            raise ArgumentError(
                "noise: the right values are needed for every array. Pass them as `expected`, by "
                "the same names."
            )
        title, label = "Precision", "bits after the binary point"
        estimate = [array.precision_bits for array in arrays.values()]
        errors = [_errors(client, array, expected[name]) for name, array in arrays.items()]
        with np.errstate(divide="ignore"):
            measured = {
                "measured, root mean square": [-np.log2(np.mean(e**2)) / 2 for e in errors],
                "measured, largest error": [-np.log2(np.max(e)) for e in errors],
            }
    else:
        raise TypeError("noise: all arrays must hold numbers, or all of them integers")
    ax = axes_or_new(ax, max(4.8, 1.6 + 0.8 * len(arrays)))
    places = np.arange(len(arrays))
    # An estimate that is unknown becomes NaN.
    estimates = np.array(estimate, dtype=float)
    ax.plot(places, estimates, "_", color="C1", ms=24, mew=3, label="estimate")
    for (name, bits), marker in zip(measured.items(), "ov", strict=False):
        ax.plot(places, bits, marker, color="C0", label=name)
    ax.set_xticks(places, list(arrays), rotation=45, ha="right", rotation_mode="anchor")
    ax.set(title=f"{title}: estimated and measured", ylabel=label, xlim=(-0.5, len(arrays) - 0.5))
    ax.grid(axis="y", alpha=0.3)
    ax.margins(y=0.2)
    ax.legend()
    return ax


def _errors(client: Client, array: EncryptedArray, expected: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return the absolute errors of all values; of complex values, those of both parts."""
    right = numbers(expected, "noise")
    if right.shape != array.shape:
        raise ShapeError(
            f"noise: an array has the shape {array.shape}, and its expected values {right.shape}"
        )
    if _is_finer_than_doubles(array) and right.dtype.kind != "c":
        exact: npt.NDArray[Any] = client.decrypt(array, dtype=_fraction)
        differences: npt.NDArray[Any] = abs(exact - fractions(right, "noise"))
        return differences.astype(np.float64)
    doubles = right if right.dtype.kind == "c" else right.astype(np.float64)
    errors = client.decrypt(array) - doubles
    return abs(np.stack([errors.real, errors.imag] if errors.dtype.kind == "c" else [errors]))


def _is_finer_than_doubles(array: EncryptedArray) -> bool:
    """Return True if doubles are too coarse to measure the errors of real numbers."""
    bits: float = array.precision_bits + math.log2(max(array.bound, 1.0))
    return not array.is_complex and bits > _MEASURABLE_BITS


def _fraction(parts: tuple[int, int]) -> Fraction:
    """Return a number from its mantissa and its exponent of two."""
    mantissa, exponent = parts
    return mantissa * Fraction(2) ** exponent
