from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import hippocrene
from hippocrene import Server, simulate

X = np.linspace(-1, 1, 40)
WEIGHTS = np.outer(X, X)[:, :8]


def model(x):
    hidden = (x @ WEIGHTS) ** 2
    return {"hidden": hidden, "sum": [hidden.sum(), "three"], "rolled": x.roll(3)}


def test_a_program_is_simulated_and_its_keys_are_enough(client):
    simulation = simulate(model, X)
    hidden = (X @ WEIGHTS) ** 2
    np.testing.assert_allclose(simulation.result["hidden"], hidden, atol=1e-9)
    np.testing.assert_allclose(simulation.result["sum"][0], hidden.sum(), atol=1e-9)
    np.testing.assert_allclose(simulation.result["rolled"], np.roll(X, 3), atol=1e-9)
    assert simulation.result["sum"][1] == "three"

    keys = client.evaluation_keys(for_=simulation)
    assert 0.95 < simulation.key_bytes / len(keys.to_bytes()) < 1.05
    real = model(Server(keys).load(client.encrypt(X)))
    np.testing.assert_allclose(client.decrypt(real["hidden"]), hidden, atol=1e-5)
    arrays = [real["hidden"], real["sum"][0], real["rolled"]]
    assert simulation.precision_bits == min(array.precision_bits for array in arrays)
    assert simulation.capacity_bits == min(array.capacity_bits for array in arrays)
    assert simulation.budget_bits is None
    assert {3, -3} & set(simulation.rotations)
    assert all(0 < bits < 400 for bits in simulation.rotations.values())
    assert 0 < simulation.seconds < 10
    assert simulation.bootstraps == 0
    assert not simulation.conjugation
    assert simulation.peak_memory > simulation.key_bytes
    assert sum(seconds for _, seconds in simulation.operations.values()) == pytest.approx(
        simulation.seconds
    )


def test_keys_of_products_are_left_out_where_there_are_none():
    simulation = simulate(lambda x: 2 * x + np.roll(x, 1), X, preset="n13")
    assert not simulation.relinearisation
    client = hippocrene.Client.generate("n13")
    keys = client.evaluation_keys(for_=simulation)
    assert 0.95 < simulation.key_bytes / len(keys.to_bytes()) < 1.05
    x = Server(keys).load(client.encrypt(X))
    with pytest.raises(hippocrene.MissingKeyError, match="relinearisation"):
        x * x


def test_servers_that_a_program_names_are_those_of_the_simulation(client):
    real = hippocrene.Client.generate("n13", scheme="bgv")
    server, integers = Server(client.evaluation_keys()), Server(real.evaluation_keys())

    def precise(x):
        with server.at_precision(8):
            return server.sum_of_products([(x, x), (x, x)])[::2] + x[0]

    def exact(x):
        return integers.with_scheme("bfv").sum_of_products([(x, x)])

    simulation = simulate(precise, X, preset=client.preset, precision=client.precision)
    result = precise(server.load(client.encrypt(X)))
    assert simulation.capacity_bits == pytest.approx(result.capacity_bits)
    # Its keys compose rotations.
    assert simulation.precision_bits == pytest.approx(result.precision_bits, abs=0.3)
    simulation = simulate(exact, np.arange(4), preset="n13", scheme="bgv")
    assert simulation.budget_bits == pytest.approx(
        exact(integers.load(real.encrypt(np.arange(4)))).budget_bits
    )
    assert (
        simulation.budget_bits
        > simulate(lambda x: x * x, np.arange(4), preset="n13", scheme="bgv").budget_bits
    )
    with pytest.raises(hippocrene.ArgumentError, match="the only arrays are the arguments"):
        simulate(lambda x: x + server.load(client.encrypt(X)), X, preset=client.preset)
    with pytest.raises(
        hippocrene.ParameterMismatchError, match="can only compute with its arguments"
    ):
        simulate(lambda x: x + client.encrypt(X), X, preset=client.preset)


def test_a_product_that_moves_elements_takes_no_more_memory_than_it_has_to():
    """With room for one product the elements are moved and multiplied at once."""

    def outer(x):
        return np.outer(np.outer(x, [1, 2, 3]) * np.array([0.5, 0.2, 0.1]), [1, 2, 3])

    simulation = simulate(outer, np.full(1300, 0.5), preset="n13", precision=20)
    assert simulation.result[5, 2] == pytest.approx(0.45)
    assert simulation.peak_memory < 2e9


@pytest.mark.parametrize(
    ("preset", "products"), [("n12", 0), ("n13", 2), ("n14", 6), ("n15", 13), ("n16", 29)]
)
def test_presets_have_the_products_of_the_table(preset, products):
    """docs/reference/parameters.md states these numbers of products."""

    def power(count):
        def multiply(x):
            y = x
            for _ in range(count):
                y = y * x
            return y

        return multiply

    simulate(power(products), [0.5, -0.25], preset=preset)
    with pytest.raises(hippocrene.CapacityError):
        simulate(power(products + 1), [0.5, -0.25], preset=preset)


def test_presets_have_the_comparisons_that_are_told():
    """docs/reference/comparisons.md states which presets can compare."""
    values = [0.9, -0.25]
    assert simulate(lambda x: x > 0.5, values, preset="n15", bound=1).bootstraps == 0
    simulate(lambda x: x.greater(0.5, gap=0.05, precision=8), values, preset="n14", bound=1)
    for preset, usable in (("n12", 100), ("n13", 200), ("n14", 300)):
        with pytest.raises(hippocrene.CapacityError, match="greater needs") as refused:
            simulate(lambda x: x > 0.5, values, preset=preset, bound=1)
        # The needed capacity is more than any of these presets has.
        assert float(str(refused.value).split()[2]) > usable


def test_errors_are_found_before_any_key_is_made():
    def too_deep(x):
        for _ in range(40):
            x = x * x
        return x

    with pytest.raises(hippocrene.CapacityError):
        simulate(too_deep, X)
    assert (
        simulate(lambda x: x**4, X, preset="n15").capacity_bits
        > simulate(lambda x: x**4, X).capacity_bits
    )
    with pytest.raises(hippocrene.ArgumentError, match=r"does not lie from -1\.5 to 1\.5"):
        simulate(lambda x: (2 * x).with_bound(1.5), X)
    with pytest.raises(hippocrene.ArgumentError, match="outside the interval"):
        simulate(lambda x: x, X, bound=0.5)


def test_limits_of_clip_are_bounds():
    simulation = simulate(lambda x: x.clip(-0.5, 0.5).with_bound(0.5), X, preset="n15")
    assert np.max(simulation.result) > 0.5


def test_integers_are_simulated_without_values():
    simulation = simulate(lambda x, y: (x * y).sum(), np.arange(5), np.arange(5), scheme="bgv")
    assert simulation.result is None
    assert simulation.budget_bits > 0
    assert simulation.precision_bits is None
    assert simulation.rotations


@pytest.mark.parametrize("scheme", ["bgv", "bfv"])
def test_the_encoding_of_integers_takes_time(scheme):
    product = simulate(lambda x: x * [1, 2, 3, 4, 5], np.arange(5), scheme=scheme)
    assert product.operations["encode"][0] == 1
    matrix = simulate(lambda x: x @ np.ones((5, 5), dtype=int), np.arange(5), scheme=scheme)
    count, seconds = matrix.operations["encode"]
    assert count >= 9  # diagonals
    assert 0 < seconds < matrix.seconds


def test_programs_that_lack_capacity_bootstrap():
    def deep(x):
        for _ in range(40):
            x = 0.5 * x**2 - 0.5
        return x

    def plain(x, count):
        return plain(0.5 * x**2 - 0.5, count - 1) if count else x

    with pytest.raises(hippocrene.CapacityError):
        simulate(deep, X, preset="n16s")
    simulation = simulate(deep, X, preset="n16s", bootstrapping=True)
    np.testing.assert_allclose(simulation.result, plain(X, 40), atol=1e-9)
    assert simulation.bootstraps > 0
    # No bootstrap of numbers can fail.
    assert simulation.log2_failure_probability is None
    assert simulation.bootstrapping == hippocrene.Bootstrapping()
    # The bootstrap has keys of its own.
    assert not simulation.rotations
    assert simulation.key_bytes > 10 * simulate(lambda x: x**2, X, preset="n16s").key_bytes
    shallow = simulate(lambda x: x**2, X, preset="n16s", bootstrapping=True)
    assert (shallow.bootstraps, shallow.bootstrapping) == (0, None)
    with pytest.raises(hippocrene.ParameterError, match="n15"):
        simulate(deep, X, bootstrapping=True)
    with pytest.raises(TypeError, match="bootstrapping is True, False"):
        simulate(deep, X, bootstrapping="yes")


def test_comparisons_are_simulated():
    y = X[::-1]
    program = {
        "greater": lambda x, y: x > y,
        "maximum": lambda x, y: x.maximum(y),
        "minimum": lambda x, y: x.minimum(y),
        "relu": lambda x, y: (x - y).relu(),
        "abs": lambda x, y: abs(x - y),
        "sign": lambda x, y: (x - y).sign(),
    }
    simulation = simulate(
        lambda x, y: {name: f(x, y) for name, f in program.items()}, X, y, preset="n15"
    )
    expected = {
        "greater": np.greater(X, y),
        "maximum": np.maximum(X, y),
        "minimum": np.minimum(X, y),
        "relu": np.maximum(X - y, 0),
        "abs": abs(X - y),
        "sign": np.sign(X - y),
    }
    for name, values in expected.items():
        np.testing.assert_allclose(simulation.result[name], values, atol=0.005)
    assert simulation.conjugation
    assert not simulation.rotations


def test_values_are_clipped():
    x = np.linspace(-1, 1, 9)
    programs = [
        lambda x: np.clip(x, -0.5, 0.25),
        lambda x: np.clip(x, None, 0.3),
        lambda x: x.clip(min=-0.1),
        lambda x: np.clip(x, 0.5, -0.5),
        lambda x: np.clip(x, None, 0.5 - x),
    ]
    simulation = simulate(lambda x: [f(x) for f in programs], x, preset="n15")
    for f, got in zip(programs, simulation.result, strict=True):
        np.testing.assert_allclose(got, f(x), atol=0.02)
    apart = [-1.0, 0.0, 1.0]
    both = simulate(
        lambda x, y: x.clip(-0.5, y, gap=0.4, precision=5),
        apart,
        [0.5] * 3,
        preset="n15",
        bound=1.0,
    )
    np.testing.assert_allclose(both.result, [-0.5, 0, 0.5], atol=0.1)


def test_functions_of_numpy_are_looked_up():
    x = np.array([0.5, -0.75, 1, -0.25])
    functions = [np.sin, np.expm1, np.arctan, lambda x: np.interp(x, [-1, 0, 1], [0.5, 1, 0.5])]
    simulation = simulate(lambda x: [f(x) for f in functions], x, preset="n15", tables=True)
    for f, got in zip(functions, simulation.result, strict=True):
        np.testing.assert_allclose(got, f(x), atol=0.01)
    rounded = simulate(np.floor, x * 0.9, preset="n15", tables=True)
    np.testing.assert_allclose(rounded.result, np.floor(x * 0.9), atol=0.02)
    with pytest.raises(TypeError, match="interp takes doubles"):
        simulate(lambda x: np.interp(x, [-1, 1], [0, 1j]), x, preset="n15", tables=True)


def test_order_is_along_several_axes():
    x = np.random.default_rng(3).uniform(-1, 1, (2, 3, 4))
    functions = [
        lambda x: np.max(x, axis=(0, 2)),
        lambda x: np.min(x, axis=(-1, 1), keepdims=True),
        lambda x: np.median(x, axis=(0, 1, 2)),
        lambda x: np.quantile(x, [0.25, 0.5], axis=(1, 0), keepdims=True),
        lambda x: np.ptp(x, axis=(1,)),
    ]
    simulation = simulate(lambda x: [f(x) for f in functions], x, preset="n15", tables=True)
    for f, got in zip(functions, simulation.result, strict=True):
        assert np.shape(got) == np.shape(f(x))
        np.testing.assert_allclose(got, f(x), atol=0.02)
    with pytest.raises(TypeError):
        simulate(lambda x: x.sort(axis=(0, 1)), x, preset="n15", tables=True)


def test_what_was_looked_up_is_bootstrapped_where_there_is_room():
    x = np.linspace(-1, 1, 5)

    def simulated(f, preset, **how):
        return simulate(f, x, preset=preset, bootstrapping=True, **how)

    def looked_up(x):
        return x.apply(lambda v: 1 / (1 + np.exp(-v)), look_ups=3)

    def eighth(x):
        return looked_up(x) ** 8

    sigmoid = 1 / (1 + np.exp(-x))
    for f, expected, bootstraps in (
        (lambda x: looked_up(x).apply(np.tanh, look_ups=3), np.tanh(sigmoid), False),
        (eighth, sigmoid**8, True),
    ):
        simulation = simulated(f, "n16s", tables=True)
        np.testing.assert_allclose(simulation.result, expected, atol=0.02)
        assert simulation.tables is not None
        assert simulation.tables.capacity > 134
        assert (simulation.bootstraps > 0) == bootstraps
    said = simulated(looked_up, "n16s", tables=hippocrene.LookUps(capacity=30))
    assert said.tables == hippocrene.LookUps(capacity=30)
    assert said.capacity_bits < 134
    most = hippocrene.LookUps(capacity=73)
    for preset, tables, words in (
        (
            "n15",
            True,
            "at most 73, and a bootstrap needs 77: make table keys with 73 .* or take a preset with",
        ),
        ("n16s", said.tables, "a bootstrap needs .* with more capacity"),
    ):
        with pytest.raises(hippocrene.CapacityError, match=words):
            simulated(eighth, preset, tables=tables)
    # With as much as there is room for, results have enough on n15, too. Each of three products of
    # 32 bits is bootstrapped, so that the result can be as well.
    simulation = simulated(eighth, "n15", tables=most)
    np.testing.assert_allclose(simulation.result, sigmoid**8, atol=0.02)
    assert (simulation.tables, simulation.bootstraps) == (most, 3)
    with pytest.raises(hippocrene.ArgumentError, match="which is enough for 73"):
        simulated(eighth, "n15", tables=hippocrene.LookUps(capacity=74))


def test_look_ups_are_simulated():
    def program(x):
        return {
            "exp": x.apply(np.exp, look_ups=3),
            "precise": x.sigmoid(precise=True),
            "sorted": x.sort(),
            "place": x.argmax(),
        }

    x = np.array([0.5, -0.75, 1, -0.25])
    simulation = simulate(program, x, preset="n15", tables=True)
    np.testing.assert_allclose(simulation.result["exp"], np.exp(x), atol=0.01)
    np.testing.assert_allclose(simulation.result["precise"], 1 / (1 + np.exp(-x)), atol=0.001)
    np.testing.assert_allclose(simulation.result["sorted"], np.sort(x), atol=0.01)
    np.testing.assert_allclose(simulation.result["place"], 2, atol=0.01)
    assert simulation.tables == hippocrene.LookUps(capacity=30)
    # The probability is that of all look-ups together, which exceeds that of one.
    assert -60 < simulation.log2_failure_probability < -45
    one = simulate(
        lambda x: x.apply(np.exp, look_ups=3), x, preset="n15", tables=True
    ).log2_failure_probability
    assert one < simulation.log2_failure_probability - 1
    count, seconds = simulation.operations["look up"]
    assert count > 4 + 4 + 5 + 10
    assert 0 < seconds < simulation.seconds
    assert not simulation.rotations
    assert simulate(lambda x: x + x, x, preset="n15", tables="lut11").tables is None
    with pytest.raises(hippocrene.MissingKeyError, match="no keys of look-up tables"):
        simulate(lambda x: x.exp(precise=True), x, preset="n15")
    with pytest.raises(hippocrene.ParameterError, match="lut11, lut12, lut13"):
        simulate(lambda x: x.sort(), x, preset="n15", tables="lut10")
    for beyond, words in (
        (lambda x: x.sqrt(), r"sqrt is defined from 0, but not on all of \[-1, 1\]"),
        (
            lambda x: x.exp(domain=(-1, 0)),
            "the values are from -1 to 1, but the domain is from -1 to 0",
        ),
        (
            lambda x: x.tanh(domain=(0, 1), precise=True),
            r"declare .* \(x\.with_interval\(\(low, high\)\)",
        ),
    ):
        with pytest.raises(hippocrene.ArgumentError, match=words):
            simulate(beyond, x, preset="n15", tables=True)
    with pytest.raises(hippocrene.ArgumentError, match="log is defined above 0"):
        simulate(lambda x: x.log(domain=(-1, 1)), x, preset="n15", tables=True)


@pytest.mark.parametrize("preset", ["n15", "n16"])
def test_places_among_many_are_found(preset):
    # The least and the largest are told from the others.
    values = np.random.default_rng(5).uniform(-0.5, 0.5, 150)
    few = values[:32].copy()
    few[[12, 16]] = -1, 1
    values[[21, 32]] = -1, 1
    for tables, count in (
        ("lut11", 33),
        ("lut12", 65),
        ("lut12", 100),
        ("lut12", 150),
        ("lut13", 128),
    ):
        found = simulate(
            lambda x: (x.argmin(), x.argmax()),
            values[:count],
            preset=preset,
            bound=1,
            tables=tables,
        )
        for place, expected in zip(
            found.result, (values[:count].argmin(), values[:count].argmax()), strict=True
        ):
            assert abs(place - expected) < 0.01
        # The error depends on the highest bit of the count. With up to 64 values, four standard
        # deviations are one half.
        assert found.precision_bits > 8.9 - (count - 1).bit_length()
    for count in (17, 32):
        found = simulate(
            lambda x: (x.argmin(), x.argmax()), few[:count], preset=preset, bound=1, tables="lut12"
        )
        np.testing.assert_allclose(found.result, [12, 16], atol=0.01)
        assert found.precision_bits > 3.9
    rows = values.reshape(3, 50).copy()
    rows[[0, 1, 2], [21, 49, 0]] = -1
    found = simulate(lambda x: x.argmin(axis=1), rows, preset=preset, bound=1, tables="lut12")
    np.testing.assert_allclose(found.result, rows.argmin(axis=1), atol=0.01)
    with pytest.raises(
        hippocrene.ArgumentError, match=r"argmin: among 257 numbers: at most 256 places"
    ):
        simulate(lambda x: x.argmin(), np.zeros(257), preset=preset, bound=1, tables="lut12")


@pytest.mark.parametrize("scheme", ["bgv", "bfv"])
def test_integers_have_neither_bootstraps_nor_tables(scheme):
    client = hippocrene.Client.generate("n15", scheme=scheme)
    for asked, words in (
        ({"tables": True}, "tables can only be used for numbers"),
        (
            {"tables": "lut11", "bootstrapping": hippocrene.Bootstrapping()},
            "bootstrapping and tables can only be used for numbers",
        ),
        ({"bootstrapping": True}, "bootstrapping can only be used for numbers"),
    ):
        with pytest.raises(hippocrene.ArgumentError, match=f"evaluation keys: {words}"):
            client.evaluation_keys([], **asked)
        with pytest.raises(hippocrene.ArgumentError, match=f"simulate: {words}"):
            simulate(lambda x: x * x, [1, 2], preset="n15", scheme=scheme, **asked)


def test_what_makes_no_sense_is_refused(client):
    with pytest.raises(TypeError, match="a function of encrypted arrays, not"):
        simulate(X)
    with pytest.raises(TypeError, match="pass for_ alone"):
        client.evaluation_keys([1], for_=simulate(lambda x: x, X))
    with pytest.raises(TypeError, match="not function"):
        client.evaluation_keys(for_=model)
    with pytest.raises(hippocrene.HippocreneError, match="simulation"):
        simulate(lambda x: x.to_bytes(), X)
    with pytest.raises(hippocrene.HippocreneError):
        simulate(lambda x: client.decrypt(x), X)


class Pair(NamedTuple):
    first: object
    second: object = None


def test_programs_return_what_they_like():
    def check(returned):
        simulation = simulate(lambda x: returned(x), np.ones(1))
        assert repr(simulation.result) == repr(returned(np.ones(1)))
        assert type(simulation.result) is type(returned(np.ones(1)))

    check(lambda x: Pair(x, [x, Pair(2, None)]))
    check(lambda x: (x, ()))
    check(lambda x: [x])
    check(lambda x: {"x": (x, {"y": [x, 1.5]}), "none": None})
    for plain in (None, 3, [], "words"):
        assert simulate(lambda _, plain=plain: plain, np.ones(1)).result == plain


def test_simulations_print_as_a_table_without_values():
    simulation = simulate(lambda x: x * 2 + 1, np.zeros(4096))
    told = repr(simulation)
    assert len(told) < 1500
    assert len(told.splitlines()) <= 20
    assert "array(" not in told
    assert "shape (4096,)" in told
    assert "n14, ckks at a precision of 32 bits" in told
    many = repr(simulate(model, X))
    assert len(many.splitlines()) <= 20
    assert "switch keys" in many
    assert "others" in many


def test_the_capacity_along_a_program_is_told():
    def program(x):
        return np.sum(0.5 * (x**2 @ np.ones((40, 2))))

    simulation = simulate(program, X)
    names = [name for name, _ in simulation.capacities]
    assert names[:2] == ["power", "matmul"]
    assert names[-1] == "sum"
    assert {"multiply"} < set(names)
    bits = [bits for _, bits in simulation.capacities]
    assert bits == sorted(bits, reverse=True)
    assert bits[-1] == simulation.capacity_bits
    integers = simulate(lambda x: -(x * x), np.arange(4), scheme="bgv")
    assert [name for name, _ in integers.capacities] == ["multiply", "negative"]
    assert integers.capacities[-1][1] == integers.budget_bits


def test_simulations_go_through_json_without_their_results(client):
    simulation = simulate(model, X)
    again = hippocrene.Simulation.from_json(simulation.to_json())
    assert again.result is None
    assert again == dataclasses.replace(simulation, result=None)
    assert len(client.evaluation_keys(for_=again).to_bytes()) == len(
        client.evaluation_keys(for_=simulation).to_bytes()
    )
    asked = {
        "bootstrapping": hippocrene.Bootstrapping(precision=12),
        "tables": hippocrene.LookUps(capacity=40),
    }
    more = dataclasses.replace(again, **asked)
    assert hippocrene.Simulation.from_json(more.to_json()) == more
    told = json.loads(simulation.to_json())
    for change, words in (
        ({"kind": "another"}, "not a JSON object of the kind"),
        ({"version": 2}, "its version is 2"),
        ({"rotations": [[1.5, 20]]}, "'rotations' has a wrong type"),
        ({"seconds": "fast"}, "'seconds' has a wrong type"),
        ({"bootstrapping": {"bound": 1.0}}, "'bootstrapping' has a wrong type"),
        ({"more": 1}, "the field 'more' is unknown"),
    ):
        with pytest.raises(hippocrene.FormatError, match=words):
            hippocrene.Simulation.from_json(json.dumps({**told, **change}))
    del told["seconds"]
    with pytest.raises(hippocrene.FormatError, match="'seconds' is missing"):
        hippocrene.Simulation.from_json(json.dumps(told))
    for wrong in ("", "[", "3", b"\xff", "[" * 100_000):
        with pytest.raises(hippocrene.FormatError, match=r"not (a )?JSON"):
            hippocrene.Simulation.from_json(wrong)


def test_simulations_with_keys_are_those_of_a_server_with_them(client, keys):
    def program(x):
        return (x * x).roll(3) + 1

    real = program(Server(keys).load(client.encrypt(X)))
    limited, free = simulate(program, X, keys=keys), simulate(program, X)
    assert limited.precision_bits == real.precision_bits
    assert limited.capacity_bits == real.capacity_bits
    assert not {3, -3} & set(limited.rotations)
    assert limited.seconds > free.seconds
    assert 0.95 < limited.key_bytes / len(keys.to_bytes()) < 1.05
    # A dict asks for the same keys.
    assert simulate(program, X, keys={}).precision_bits == limited.precision_bits
    assert keys.suffice(limited) is True
    # Other keys compose the rotation.
    assert keys.suffice(free) is True


def test_all_missing_keys_are_named_at_once(client):
    def program(x):
        return (x * x).roll(3) + (1j * x).conj() + x.roll(5)

    few = client.evaluation_keys([1])
    with pytest.raises(hippocrene.MissingKeyError) as refused:
        simulate(program, X, keys=few)
    found = str(refused.value)
    needed = simulate(program, X)
    assert needed.conjugation
    assert len(needed.rotations) >= 2
    for words in (*map(str, needed.rotations), "conjugation", "evaluation_keys(for_=hippocrene."):
        assert words in found
    with pytest.raises(hippocrene.MissingKeyError, match=r"the rotations by .* and conjugation"):
        few.suffice(needed)
    assert client.evaluation_keys(for_=needed).suffice(needed) is True
    with pytest.raises(hippocrene.ArgumentError, match="preset 'n13'"):
        few.suffice(simulate(program, X, preset="n13"))
    with pytest.raises(TypeError, match="not int"):
        few.suffice(3)
    # Only keys of bootstraps would help here.
    with pytest.raises(hippocrene.CapacityError, match=r"these keys lack .*bootstrapping"):
        simulate(lambda x: x**2**16, [1.0], preset="n15", keys={"rotations": []})
    with pytest.raises(hippocrene.MissingKeyError, match="lack the tables lut12"):
        simulate(lambda x: x.sigmoid(precise=True), X[:2], preset="n15", keys={"rotations": []})


def test_comparisons_without_the_key_of_conjugation_go_by_tables():
    x = np.array([0.5, -0.5])

    def compared(**keys):
        return simulate(
            lambda x: x > 0, x, preset="n15", keys={"rotations": [], "tables": "lut11", **keys}
        )

    fast, slow = compared(conjugation=True), compared()
    assert "look up" not in fast.operations
    assert slow.operations["look up"][0] > 0
    np.testing.assert_allclose(slow.result, [1, 0], atol=0.01)


def test_keys_and_parameters_are_not_both_said(keys):
    for asked in (
        {"preset": "n13"},
        {"precision": 20},
        {"scheme": "bgv"},
        {"bootstrapping": True},
        {"tables": True},
    ):
        with pytest.raises(TypeError, match="pass keys without them"):
            simulate(model, X, keys=keys, **asked)
    with pytest.raises(TypeError, match="not 'rotation'"):
        simulate(model, X, keys={"rotation": [1]})
    with pytest.raises(TypeError, match="not int"):
        simulate(model, X, keys=3)


def test_errors_of_capacity_name_what_fits(client, server):
    def squared(times):
        def program(x):
            for _ in range(times):
                x = x * x
            return x

        return program

    with pytest.raises(hippocrene.CapacityError) as refused:
        squared(12)(server.load(client.encrypt(np.ones(8))))
    told = re.search(
        r"has (\d+) products in a row at a precision of 32 bits, (.*)\)", str(refused.value)
    )
    assert told is not None
    offers = [
        (int(told[1]), 32.0),
        *((int(n), float(bits)) for n, bits in re.findall(r"(\d+) at (\d+)", told[2])),
    ]
    assert len(offers) > 2
    for products, precision in offers:
        simulate(squared(products), np.ones(8), precision=precision)
    # A simulation tries.
    with pytest.raises(hippocrene.CapacityError) as refused:
        simulate(squared(8), np.ones(8))
    fits = re.search(
        r"fits n14 at a precision of (\d+) bits and the preset n15\.$", str(refused.value)
    )
    assert fits is not None
    simulate(squared(8), np.ones(8), precision=float(fits[1]))
    simulate(squared(8), np.ones(8), preset="n15")
    with pytest.raises(hippocrene.BudgetError, match=r"\. The program fits the preset n1[56]\.$"):
        simulate(squared(12), np.arange(8), scheme="bgv")


def test_the_preset_is_chosen():
    def power(x):
        return x**4

    chosen = simulate(power, X, preset="auto")
    assert chosen.preset == "n13"
    assert chosen.precision == 32
    np.testing.assert_allclose(chosen.result, X**4, atol=1e-9)
    assert simulate(lambda x: x.sum(), X, preset="auto").preset == "n12"
    assert (
        simulate(lambda x: x * x, np.arange(5), preset="auto", scheme="bgv").plain_modulus == 65537
    )
    with pytest.raises(
        hippocrene.ParameterError,
        match=r"within 100 kB of memory\. .* nearest miss is 'n13', which takes .* MB",
    ):
        simulate(power, X, preset="auto", max_memory=100_000)
    with pytest.raises(hippocrene.ArgumentError, match="does not lie from"):
        simulate(lambda x: x.with_bound(0.5), X, preset="auto")


def test_the_precision_is_chosen():
    def power(x):
        return x**8

    least = simulate(power, X, preset="n14", precision="auto", min_precision=20)
    assert least.precision_bits >= 20
    assert simulate(power, X, precision=least.precision - 1).precision_bits < 20
    both = simulate(power, X, preset="auto", precision="auto")
    assert both.precision_bits >= 16
    assert both.seconds <= least.seconds
    with pytest.raises(
        hippocrene.ParameterError,
        match=r"the preset does not fit .* bits\. The nearest miss is 'n13': ",
    ):
        simulate(power, X, preset="n13", precision="auto", min_precision=60)
    with pytest.raises(
        hippocrene.ParameterError,
        match=r"results of 60 bits within 1 MB of memory\. .*max_memory, or compute .* Or take a lower min_precision",
    ):
        simulate(power, X, preset="auto", precision="auto", min_precision=60, max_memory=10**6)
    with pytest.raises(hippocrene.MissingKeyError, match=r"^apply: "):
        simulate(
            lambda x: x.apply(np.exp, look_ups=1),
            X,
            preset="auto",
            precision="auto",
            min_precision=60,
        )
    for wrong in ({"max_memory": 1}, {"min_precision": 1}, {"preset": "auto", "min_precision": 1}):
        with pytest.raises(TypeError, match="need"):
            simulate(power, X, **wrong)
    with pytest.raises(TypeError, match="a precision is for numbers"):
        simulate(power, np.arange(3), scheme="bgv", precision="auto")


def test_figures_of_the_machine_are_kept_and_can_be_switched_off(tmp_path):
    program = "import hippocrene; print(hippocrene.simulate(lambda x: x * x, [1.0]).seconds)"

    def predicted(**variables):
        home = {
            "HOME": str(tmp_path),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
            "XDG_CONFIG_HOME": str(tmp_path),
        }
        environment = {**os.environ, **home, **variables}
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            check=True,
            text=True,
        )
        return float(done.stdout)

    typical = predicted(HIPPOCRENE_PROFILE="typical")
    assert typical == predicted(HIPPOCRENE_PROFILE="typical")
    assert not (tmp_path / "cache").exists()
    measured = predicted(HIPPOCRENE_PROFILE="")
    [kept] = (tmp_path / "cache" / "hippocrene").iterdir()
    assert kept.name.startswith("profile-")
    assert predicted(HIPPOCRENE_PROFILE="") == measured
    # Where the folder cannot be made, each process measures.
    (tmp_path / "file").write_text("")
    assert predicted(HIPPOCRENE_PROFILE="", XDG_CACHE_HOME=str(tmp_path / "file")) > 0
