"""Compiled programs: recording, planning, files and runs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pytest

import hippocrene as hp

RNG = np.random.default_rng(7)
WEIGHTS = RNG.normal(size=(6, 3)) / 4
ROWS = RNG.uniform(-1, 1, (8, 6))


class Parties:
    """A client and a server for a program."""

    def __init__(self, program: hp.Program) -> None:
        """Make the keys that the program uses, and no others."""
        self.program, self.interface = program, program.interface()
        self.client = hp.Client.generate(self.interface)
        self.server = hp.Server(self.client.evaluation_keys(self.interface))

    def __call__(self, *values: npt.ArrayLike) -> Any:
        """Encrypt, run and decrypt."""
        inputs = self.client.encrypt(self.interface, *values)
        arrays = inputs if isinstance(inputs, tuple) else (inputs,)
        return self.client.decrypt(self.server.run(self.program, *arrays))


def affine(x: Any) -> Any:
    return x @ WEIGHTS + 0.5


def test_a_program_is_compiled_stored_sent_and_run(tmp_path: Path) -> None:
    program = hp.compile(lambda x: affine(x) ** 2, hp.spec_like(ROWS), preset="n13")
    program.save(tmp_path / "score.hpp")
    program.interface().save(tmp_path / "score.hpi")
    interface = hp.Interface.load(tmp_path / "score.hpi")
    client = hp.Client.generate(interface)
    server = hp.Server(client.evaluation_keys(interface))
    x = client.encrypt(interface, ROWS)
    reply = server.run(hp.Program.load(tmp_path / "score.hpp"), x)
    expected = (ROWS @ WEIGHTS + 0.5) ** 2
    assert program.error_bound is not None
    assert np.abs(client.decrypt(reply) - expected).max() <= program.error_bound < 1e-5


def test_an_interface_has_no_weights() -> None:
    weights = np.full((6, 3), 0.123456789)
    program = hp.compile(lambda x: x @ weights, hp.spec((8, 6), bound=1), preset="n13")
    stored = np.float64(0.123456789).tobytes()[::-1]  # CBOR has the highest byte first
    assert program.to_bytes().count(stored) == 18
    assert stored not in program.interface().to_bytes()


def test_inputs_have_the_names_of_parameters_and_results_keep_their_structure() -> None:
    def both(left: Any, right: Any) -> dict[str, Any]:
        return {"sum": left + right, "product": left * right}

    program = hp.compile(both, hp.spec(4, bound=2), hp.spec(4, interval=(0, 1)), preset="n13")
    assert {name: str(spec) for name, spec in program.inputs.items()} == {
        "left": "4 numbers in [-2, 2]",
        "right": "4 numbers in [0, 1]",
    }
    left, right = np.array([1.5, -2, 0, 0.25]), np.array([0, 0.5, 1, 0.75])
    found = Parties(program)(left, right)
    assert list(found) == ["sum", "product"]
    np.testing.assert_allclose(found["sum"], left + right, atol=1e-6)
    np.testing.assert_allclose(found["product"], left * right, atol=1e-6)


def test_tuples_stay_tuples() -> None:
    program = hp.compile(lambda x: (x, x[::-1]), hp.spec(4, bound=2), preset="n13")
    same, reverse = Parties(program)([1, 2, -1, 0])
    np.testing.assert_allclose(same, [1, 2, -1, 0], atol=1e-6)
    np.testing.assert_allclose(reverse, [0, -1, 2, 1], atol=1e-6)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "arithmetic": (lambda x: (x * x - 0.25) / 3 + 2 * x, 1e-6),
    "weights": (lambda x: x * np.arange(12.0).reshape(3, 4) - np.ones(4), 1e-6),
    "power": (lambda x: x**3, 1e-6),
    "matmul": (lambda x: np.linspace(-1, 1, 6).reshape(2, 3) @ x, 1e-6),
    "encrypted matmul": (lambda x: x @ x.T, 1e-6),
    "dot": (lambda x: x[0] @ x[1], 1e-6),
    "sums": (lambda x: x.sum(axis=0) + x.mean(axis=1)[0], 1e-6),
    "variance": (lambda x: x.var(axis=1), 1e-6),
    "cumsum": (lambda x: np.cumsum(x, axis=1), 1e-6),
    "moves": (lambda x: np.roll(x.T, 1, axis=0)[1:3], 1e-6),
    "concatenate": (lambda x: np.concatenate([x[0], x[2, ::-1]]), 1e-6),
    "broadcast": (lambda x: x - x.mean(axis=1, keepdims=True), 1e-6),
    "convolve": (lambda x: np.convolve(x[1], [0.5, -1, 0.25]), 1e-6),
    "einsum": (lambda x: np.einsum("ij,ij->i", x, x), 1e-6),
    "polynomial": (
        lambda x: (np if isinstance(x, np.ndarray) else hp).polyval([1, 0, -0.5, 0.25], x),
        1e-6,
    ),
    "tanh": (lambda x: np.tanh(x), 2e-3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_of_arrays_can_be_compiled(name: str) -> None:
    function, tolerance = FUNCTIONS[name]
    values = np.linspace(-1, 1, 12).reshape(3, 4)
    program = hp.compile(function, hp.spec((3, 4), bound=1), preset="n14")
    np.testing.assert_allclose(Parties(program)(values), function(values), atol=tolerance)


def test_functions_of_python_are_part_of_the_program() -> None:
    program = hp.compile(
        lambda x: x.apply(lambda v: v * abs(v) - 0.5, error=1e-2),
        hp.spec(16, bound=1),
        preset="n15",
        precision=20,
    )
    again = hp.Program.from_bytes(program.to_bytes())
    values = np.linspace(-1, 1, 16)
    found = Parties(again)(values)
    np.testing.assert_allclose(found, values * np.abs(values) - 0.5, atol=1e-2)


def test_integers_are_exact() -> None:
    program = hp.compile(
        lambda x: (x * x - 3).sum(axis=0), hp.spec((4, 2), bound=50), preset="n13", scheme="bgv"
    )
    values = np.array([[1, -2], [50, 7], [-50, 0], [3, 3]])
    found = Parties(program)(values)
    np.testing.assert_array_equal(found, (values**2 - 3).sum(axis=0) % 65537)
    assert program.error_bound is None


def test_programs_on_bits_use_their_presets() -> None:
    program = hp.compile(lambda x, y: x ^ (x & y), hp.spec(8, kind="bits"), hp.spec(8, kind="bits"))
    x, y = np.arange(8) % 2 == 1, np.arange(8) > 3
    np.testing.assert_array_equal(Parties(program)(x, y), x & ~y)
    assert program.preset.startswith("bits")
    assert {"bits"} <= set(program.keys)
    assert program.to_bytes() == hp.Program.from_bytes(program.to_bytes()).to_bytes()


def test_an_operation_that_repeats_is_one_step() -> None:
    program = hp.compile(lambda x: (x * x) + (x * x) * 2, hp.spec(4, bound=1), preset="n13")
    assert [step.operation for step in program.steps].count("mul") == 1


def test_equal_functions_compile_to_equal_bytes() -> None:
    compile_it = lambda: hp.compile(affine, hp.spec((8, 6), bound=1))  # noqa: E731
    assert compile_it().to_bytes() == compile_it().to_bytes()


def test_a_sample_narrows_intervals_inside_and_these_are_marked() -> None:
    sample = RNG.normal(size=(64, 6)) / 8
    far = hp.compile(lambda x: np.tanh(affine(x)), hp.spec((64, 6), bound=1), preset="n14")
    near = hp.compile(lambda x: np.tanh(affine(x)), hp.spec_like(sample), preset="n14")
    assert not any(step.rests_on_sample for step in far.steps)
    marked = [step for step in near.steps if step.rests_on_sample]
    assert marked
    assert all(step.operation == "with_interval" for step in marked)
    seen = sample @ WEIGHTS
    low, high = marked[0].results[0].interval or (0.0, 0.0)
    assert low < seen.min() < seen.max() < high
    assert high - low <= 2 * (seen.max() - seen.min()) * 1.001
    assert "(seen in the sample)" in str(near)
    assert near.seconds < far.seconds
    rows = sample[::-1]
    np.testing.assert_allclose(Parties(near)(rows), np.tanh(affine(rows)), atol=2e-3)


def test_results_far_outside_of_their_interval_are_refused() -> None:
    sample = RNG.normal(size=(8, 6)) / 8
    parties = Parties(hp.compile(lambda x: np.tanh(x.sum(axis=1)), hp.spec_like(sample)))
    # Every value is within the interval of the input, but sums of the largest ones are far larger
    # than those of the sample.
    rows = sample.copy()
    rows[3] = (parties.program.inputs["x"].interval or (0.0, 0.0))[1]
    message = r"decrypt: 1 of 8 values are wrong, the first one at position 3 .*margin of spec_like"
    with pytest.raises(hp.OutOfIntervalError, match=message):
        parties(rows)
    # A simulation says so without keys.
    message = r"^simulate: a value of .* does not lie from .* inside of the program\. With keys"
    with pytest.raises(hp.ArgumentError, match=message):
        hp.simulate(parties.program, rows)


def test_functions_of_networks_take_plain_and_encrypted_arrays() -> None:
    def network(x: Any) -> Any:
        return hp.sigmoid(affine(hp.relu(x)))

    rows = RNG.normal(size=(8, 6)) / 8
    expected = 1 / (1 + np.exp(-affine(np.maximum(rows, 0))))
    np.testing.assert_allclose(network(rows), expected)
    parties = Parties(hp.compile(network, hp.spec_like(rows), preset="n15", precision=16))
    np.testing.assert_allclose(parties(rows), expected, atol=parties.program.error_bound)


def test_an_error_determines_the_precision() -> None:
    coarse, fine = (
        hp.compile(lambda x: x * x, hp.spec(4, bound=1), preset="n13", error=error)
        for error in (1e-2, 1e-6)
    )
    for program, error in ((coarse, 1e-2), (fine, 1e-6)):
        assert program.error_bound is not None
        assert error / 8 < program.error_bound <= error
    assert coarse.precision is not None
    assert fine.precision is not None
    assert coarse.precision + 10 < fine.precision


def test_deep_programs_bootstrap_at_planned_places() -> None:
    def deep(x: Any) -> Any:
        y = x
        for _ in range(30):
            y = y * y * 0.5 + x * 0.25
        return y

    program = hp.compile(deep, hp.spec(4096, bound=0.9), preset="n15", precision=14)
    values = np.linspace(-0.9, 0.9, 4096)
    plan = hp.simulate(deep, values, preset="n15", precision=14, bound=0.9, bootstrapping=True)
    assert 0 < program.bootstraps < plan.bootstraps
    assert program.first_seconds < plan.first_seconds
    names = [step.operation for step in program.steps if step.bootstraps]
    assert names == ["bootstrap"] * program.bootstraps
    assert "bootstrapping" in program.keys


def test_a_preset_is_chosen_by_depth() -> None:
    shallow = hp.compile(lambda x: x + 1, hp.spec(4, bound=1))
    deep = hp.compile(lambda x: np.tanh(np.tanh(x)), hp.spec(4, bound=1))
    names = [preset.name for preset in hp.presets()]
    assert names.index(shallow.preset) < names.index(deep.preset)
    # There is a reason against every other preset for numbers.
    numbers = [name for name in names if name.startswith("n")]
    assert {deep.preset, *deep.other_presets} == set(numbers)
    assert "n17, n15s, n16s, n17s: larger than " in str(shallow)


def test_progress_counts_steps_and_can_stop_a_run() -> None:
    parties = Parties(hp.compile(affine, hp.spec((8, 6), bound=1), preset="n13"))
    x = parties.client.encrypt(parties.interface, ROWS)
    done: list[int] = []
    parties.server.run(parties.program, x, progress=done.append)
    assert done == list(range(1, len(parties.program.steps) + 1))

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parties.server.run(parties.program, x, progress=stop)


def test_printed_programs_show_steps_cost_and_keys() -> None:
    text = str(hp.compile(affine, hp.spec((8, 6), bound=1), preset="n13"))
    for part in ("preset 'n13'", "x = 8 x 6 numbers in [-1, 1]", "error bound", "matmul_plain"):
        assert part in text
    assert re.search(r"evaluation keys = [\d.]+ MB: \d+ rotations", text)


# Mistakes


@pytest.fixture(scope="module")
def parties() -> Parties:
    return Parties(hp.compile(affine, hp.spec((8, 6), bound=1), preset="n13"))


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        (np.zeros((9, 6)), hp.ShapeError, "Encrypt and run batches of 8 rows"),
        (np.zeros((7, 6)), hp.ShapeError, "Fill up to 8 rows"),
        (np.zeros((8, 5)), hp.ShapeError, r"shape \(8, 5\), and the program was compiled for"),
        (np.full((8, 6), 1.5), hp.ArgumentError, "row 0, column 0 .* outside the interval"),
        (np.full((8, 6), np.nan), hp.EncodeError, "nan at row 0, column 0"),
        ([["a"] * 6] * 8, hp.ArgumentError, '"a" is not a decimal number'),
    ],
)
def test_wrong_values_are_refused(
    parties: Parties, values: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        parties.client.encrypt(parties.interface, values)


def test_other_numbers_of_inputs_are_refused(parties: Parties) -> None:
    with pytest.raises(hp.ArgumentError, match="2 inputs are given, and the program takes 1: x"):
        parties.client.encrypt(parties.interface, ROWS, ROWS)
    with pytest.raises(hp.ArgumentError, match="0 inputs are given"):
        parties.server.run(parties.program)
    with pytest.raises(TypeError, match="on encrypted arrays, not on ndarray"):
        parties.server.run(parties.program, ROWS)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="one array is encrypted at a time"):
        parties.client.encrypt(ROWS, ROWS)


def test_arrays_of_another_interval_are_refused(parties: Parties) -> None:
    x = parties.client.encrypt(3 * ROWS)
    with pytest.raises(hp.ArgumentError, match="Encrypt it with the interface"):
        parties.server.run(parties.program, x)


def test_keys_of_another_program_are_refused_by_name(parties: Parties) -> None:
    other = hp.compile(lambda x: x + 1, hp.spec((8, 6), bound=1), preset="n13")
    server = hp.Server(parties.client.evaluation_keys(other.interface()))
    x = parties.client.encrypt(parties.interface, ROWS)
    with pytest.raises(hp.MissingKeyError, match=r"lacks keys that this program uses: rotations"):
        server.run(parties.program, x)


def test_arrays_of_another_client_are_refused(parties: Parties) -> None:
    x = hp.Client.generate(parties.interface).encrypt(parties.interface, ROWS)
    with pytest.raises(
        hp.KeyMismatchError, match=r"^load: encrypted under key .*, but this server"
    ):
        parties.server.run(parties.program, x)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    data = hp.compile(affine, hp.spec((8, 6), bound=1), preset="n13").to_bytes()
    for cut in (0, 10, 60, len(data) // 2, len(data) - 1):
        with pytest.raises(hp.FormatError):
            hp.Program.from_bytes(data[:cut])
    flips = random.Random(3)
    for _ in range(200):
        place = flips.randrange(len(data))
        flipped = bytearray(data)
        flipped[place] ^= 1 << flips.randrange(8)
        with pytest.raises(hp.HippocreneError):
            hp.Program.from_bytes(flipped)
    (tmp_path / "keys").write_bytes(hp.Client.generate("n12").public_key().to_bytes())
    with pytest.raises(hp.FormatError, match="a public key"):
        hp.Program.load(tmp_path / "keys")


def test_functions_that_change_are_refused() -> None:
    with pytest.raises(hp.ArgumentError, match="a second call of the function did something else"):
        hp.compile(lambda x: x * random.random(), hp.spec(4, bound=1), preset="n13")
    calls: list[int] = []

    def counts(x: Any) -> Any:
        calls.append(1)
        return x + len(calls)

    with pytest.raises(hp.ArgumentError, match="take random numbers, clocks and counters out"):
        hp.compile(counts, hp.spec(4, bound=1), preset="n13")


def test_control_flow_on_values_is_refused() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        hp.compile(lambda x: x if x[0] > 0 else -x, hp.spec(4, bound=1), preset="n15")


@pytest.mark.parametrize(
    "result", [lambda _: 3, lambda x: [x, 3], lambda _: np.zeros(3), lambda _: None]
)
def test_plain_results_are_refused(result: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match="A program returns an encrypted array"):
        hp.compile(result, hp.spec(4, bound=1), preset="n13")


def test_arrays_of_another_recording_are_refused() -> None:
    kept: dict[str, Any] = {}

    def cached(x: Any) -> Any:
        return kept.setdefault("y", x * 2) + x

    hp.compile(cached, hp.spec(4, bound=1), preset="n13")
    with pytest.raises(hp.ArgumentError, match="computes only from its arguments"):
        hp.compile(cached, hp.spec(4, bound=1), preset="n13")
    with pytest.raises(hp.ArgumentError, match="computes only from its arguments"):
        hp.compile(lambda _: kept["y"], hp.spec(4, bound=1), preset="n13")


def test_stray_slots_may_exceed_the_domain_of_a_function() -> None:
    def f(x: Any) -> Any:
        return np.tanh(affine(x))

    # The sums of products leave stray slots, whose bound is larger than that of the elements.
    plan = hp.simulate(f, ROWS, interval=(-1.9989, 1.9993), preset="n14")
    np.testing.assert_allclose(plan.result, np.tanh(affine(ROWS)), atol=2e-3)


def test_arrays_from_outside_are_refused() -> None:
    client = hp.Client.generate("n13")
    server = hp.Server(client.evaluation_keys())
    y = server.load(client.encrypt([1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(hp.ArgumentError, match="computes only from its arguments"):
        hp.compile(lambda x: x + y, hp.spec(4, bound=1), preset="n13")


def test_arguments_of_compile_are_checked() -> None:
    spec = hp.spec(4, bound=1)
    with pytest.raises(TypeError, match="a function is compiled, not int"):
        hp.compile(3, spec)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="are specifications, not ndarray"):
        hp.compile(affine, ROWS)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="does not take 2 arrays"):
        hp.compile(affine, spec, spec)
    with pytest.raises(TypeError, match="Pass one of the two"):
        hp.compile(affine, spec, error=0.1, precision=20)
    with pytest.raises(hp.ArgumentError, match="must be above 0"):
        hp.compile(affine, spec, error=0)
    with pytest.raises(hp.ParameterError, match="n99"):
        hp.compile(affine, spec, preset="n99")
    with pytest.raises(hp.ArgumentError, match="no size in bytes"):
        hp.compile(affine, spec, max_memory="much")
    with pytest.raises(hp.ParameterError, match="within 1 MB of memory"):
        hp.compile(lambda x: x * x, spec, max_memory="1 MB")


def test_specifications_are_checked() -> None:
    with pytest.raises(hp.ArgumentError, match="numbers need the interval"):
        hp.spec(4)
    with pytest.raises(hp.ArgumentError, match="bits have no interval"):
        hp.spec(4, bound=1, kind="bits")
    with pytest.raises(hp.ArgumentError, match="there is no kind"):
        hp.spec(4, bound=1, kind="words")  # type: ignore[arg-type]
    with pytest.raises(hp.ArgumentError, match="sample is empty"):
        hp.spec_like(np.zeros((0, 3)))
    with pytest.raises(hp.ArgumentError, match=r"margin is 0\.5"):
        hp.spec_like(ROWS, margin=0.5)
    with pytest.raises(hp.EncodeError, match="nan at position 1"):
        hp.spec_like([1.0, np.nan])
    for sample in ([["x", 1.0], ["y", 2.0]], np.array([["x", 1.0]], object)):
        with pytest.raises(TypeError, match="a sample holds numbers"):
            hp.spec_like(sample)
    assert str(hp.spec_like([True, False])) == "2 bits"
    assert hp.spec_like([5.0, 5.0]).interval == (0.0, 10.0)
    assert hp.spec_like([1 + 1j]).kind == "complex"


def test_errors_of_functions_limit_what_can_be_asked() -> None:
    with pytest.raises(
        hp.ArgumentError,
        match=r"no program with errors of at most 1e-06: its results have errors of up to 0.005, since .* of their own",
    ):
        hp.compile(
            lambda x: x.apply(np.tanh, error=1e-3), hp.spec(4, bound=4), preset="n15", error=1e-6
        )


def test_requested_bootstraps_are_part_of_a_program() -> None:
    program = hp.compile(
        lambda x: x.server.bootstrap(x) * x, hp.spec(8, bound=1), preset="n15", precision=14
    )
    assert program.bootstraps == 1


def test_pictures_have_a_row_for_each_step(tmp_path: Path) -> None:
    program = hp.compile(affine, hp.spec((8, 6), bound=1), preset="n13")
    picture = program.plot(tmp_path / "plan.svg")
    assert (tmp_path / "plan.svg").read_text() == picture
    root = ElementTree.fromstring(picture)
    names = {"svg": "http://www.w3.org/2000/svg"}
    assert len(root.findall("svg:circle", names)) == 1 + len(program.steps)
    assert len(root.findall("svg:rect", names)) == len(program.steps)
    texts = [text.text or "" for text in root.findall("svg:text", names)]
    assert "x: 8 x 6 numbers in [-1, 1]" in texts
    assert any(text.startswith("matmul_plain: 8 x 3 numbers") for text in texts)
    assert picture in program._repr_html_()


def test_arrays_of_another_precision_are_refused(parties: Parties) -> None:
    x = parties.client.encrypt(ROWS, bound=1, precision=20)
    with pytest.raises(hp.ArgumentError, match=r"a precision of 20 bits, and .* for 32 bits"):
        parties.server.run(parties.program, x)


def test_errors_that_are_looser_than_a_comparison_allows_are_found_too() -> None:
    # At the precision that this error needs, relu would refuse the values.
    program = hp.compile(lambda x: x.relu(), hp.spec(8, bound=1), preset="n15", error=0.5)
    assert program.error_bound is not None
    assert program.error_bound <= 0.5


def test_programs_belong_to_no_key(parties: Parties) -> None:
    with pytest.raises(AttributeError, match="a Program belongs to no secret key"):
        _ = parties.program.fingerprint
    with pytest.raises(TypeError, match="an Interface, not str"):
        parties.client.decrypt(parties.client.encrypt(ROWS), "x")  # type: ignore[call-overload]
    assert hp.inspect(parties.program.to_bytes())["kind"] == "program"
    assert hp.inspect(parties.interface.to_bytes())["program"]["inputs"][0][0] == "x"


@pytest.mark.parametrize(
    ("function", "error"),
    [(lambda x: np.maximum(x, 0), 4e-4), (lambda x: np.tanh(x) @ np.ones(64), 1e-3)],
    ids=["relu", "sum of tanh"],
)
def test_functions_are_as_precise_as_the_results_need(
    function: Callable[[Any], Any], error: float
) -> None:
    spec = hp.spec((4, 64), bound=1)
    by_default = hp.compile(function, spec, preset="n15").error_bound
    program = hp.compile(function, spec, preset="n15", error=error)
    assert by_default is not None
    assert program.error_bound is not None
    assert error / 8 < program.error_bound <= error < by_default
    rows = np.repeat([0.0005, -0.0005, 0.9, -0.4], 64).reshape(4, 64)
    assert np.abs(Parties(program)(rows) - function(rows)).max() <= error


@pytest.mark.parametrize(
    "kink",
    [
        lambda x: np.maximum(x, 0),
        lambda x: abs(x).sum(axis=1),
        lambda x: np.clip(x, -0.5, 0.25) @ np.linspace(-1, 1, 64),
    ],
    ids=["relu", "sum of abs", "clip"],
)
def test_error_bounds_hold_for_the_worst_values(kink: Callable[[Any], Any]) -> None:
    program = hp.compile(kink, hp.spec((4, 64), bound=1), preset="n15")
    # Errors are largest next to a kink, and add up if many values are there.
    rows = np.repeat([0.0013, -0.0013, 0.25 - 0.0013, -0.5 + 0.0013], 64).reshape(4, 64)
    rows[:, 32:] = 0.9
    error = np.abs(Parties(program)(rows) - kink(rows)).max()
    assert program.error_bound is not None
    assert program.error_bound / 32 < error <= program.error_bound


@pytest.mark.parametrize(
    ("error", "message"),
    [(0, "must be above 0"), (float("nan"), "nan"), (1e-300, "below 1e-16, the smallest")],
)
def test_errors_that_no_program_has_are_refused(error: float, message: str) -> None:
    with pytest.raises((hp.ArgumentError, ValueError), match=message):
        hp.compile(affine, hp.spec((8, 6), bound=1), error=error)


def test_bounds_that_rest_on_a_sample_say_so() -> None:
    program = hp.compile(lambda x: np.tanh(x @ np.ones(6)), hp.spec_like(ROWS), preset="n14")
    assert "if values stay within the intervals seen in the sample" in str(program)


@pytest.mark.parametrize("arguments", [("n14", {}), ("n13", {"scheme": "bgv"})])
def test_clients_with_other_parameters_are_refused(arguments: tuple[str, dict[str, Any]]) -> None:
    interface = hp.compile(affine, hp.spec((8, 6), bound=1), preset="n13").interface()
    client = hp.Client.generate(arguments[0], **arguments[1])
    needs = r"and the program needs n13 \(ckks\)\. Make a client with Client.generate\(interface\)"
    public = client.public_key()
    for use in (
        client.evaluation_keys,
        lambda own: client.encrypt(own, ROWS),
        lambda own: public.encrypt(own, ROWS),
    ):
        with pytest.raises(hp.ParameterMismatchError, match=needs):
            use(interface)


def test_results_that_are_inputs_have_the_error_of_encryption() -> None:
    parties = Parties(hp.compile(lambda x: x, hp.spec(64, bound=1), preset="n13"))
    rows = np.linspace(-1, 1, 64)
    error = np.abs(parties(rows) - rows).max()
    assert parties.program.error_bound is not None
    assert 0 < error <= parties.program.error_bound < 1e-6


def test_errors_that_iterations_correct_are_unknown() -> None:
    def inverse(x: Any) -> Any:
        y = 2 - x
        for _ in range(25):
            y = (y * (2 - x * y)).with_interval((0, 3))
        return y

    program = hp.compile(inverse, hp.spec(8, interval=(0.5, 1.5)), preset="n16s", precision=16)
    assert program.precision_bits is None
    assert program.error_bound == np.inf
    assert "error bound = unknown" in str(program)
    with pytest.raises(hp.ParameterError, match="the error of the results is unknown"):
        hp.compile(inverse, hp.spec(8, interval=(0.5, 1.5)), preset="n16s", error=1e-2)


def operations(program: hp.Program) -> list[str]:
    return [step.operation for step in program.steps]


def check_rewritten(function: Any, *inputs: npt.NDArray[np.float64], preset: str) -> list[str]:
    """Run a program on its inputs, and return the names of its operations."""
    specs = [hp.spec(one.shape, bound=1) for one in inputs]
    program = hp.compile(function, *specs, preset=preset, precision=16)
    expected = function(*inputs)
    results = Parties(program)(*inputs)
    several = isinstance(expected, tuple)
    for result, one in zip(*(x if several else (x,) for x in (results, expected)), strict=True):
        np.testing.assert_allclose(result, one, atol=program.error_bound)
    return operations(program)


def test_moves_of_moved_elements_are_joined() -> None:
    x = RNG.uniform(-1, 1, (16, 12))

    def moved(x: Any) -> Any:
        parts = [(x[:, i : i + 4] * (i + 1.0)).reshape(-1, 8) for i in (0, 5, 8)]
        return np.concatenate(parts, axis=1)[:, ::3] / 16

    assert check_rewritten(moved, x, preset="n13").count("gather") == 4


def test_like_functions_of_several_arrays_are_computed_at_once() -> None:
    x, y, z = RNG.uniform(-1, 1, (3, 64))

    def apart(x: Any, y: Any, z: Any) -> Any:
        # The last function depends on the first one, and cannot be computed with it.
        first = np.tanh(x)
        return first, np.tanh(y) + np.tanh(z), np.tanh(0.25 * first + 0.5 * y)

    names = check_rewritten(apart, x, y, z, preset="n15")
    assert names.count("tanh") == 2


def test_packed_comparisons_have_the_smallest_default_gap() -> None:
    def signs(x: Any) -> Any:
        return x > 0.25, 0.125 * x[::-1] > 0.03

    program = hp.compile(signs, hp.spec(256, bound=1), preset="n15", precision=16)
    # The gap of the second one is an eighth of that of the first one.
    x = np.concatenate([np.linspace(-1, 0.249, 128), np.linspace(0.26, 1, 128)])
    first, second = Parties(program)(x)
    np.testing.assert_allclose(first, x > 0.25, atol=2e-3)
    np.testing.assert_allclose(second, 0.125 * x[::-1] > 0.03, atol=2e-3)


def test_products_are_added_before_they_are_relinearised() -> None:
    x, y = RNG.uniform(-1, 1, (2, 64))

    def products(x: Any, y: Any) -> Any:
        return x * y + x * x + y * y

    names = check_rewritten(products, x, y, preset="n13")
    assert names.count("sum_of_products") == 1
    assert "mul" not in names


def test_values_are_moved_once_to_the_layout_of_several_others() -> None:
    x, y = RNG.uniform(-1, 1, (64, 16)), RNG.uniform(-1, 1, 64)
    weights = RNG.normal(size=(3, 16)) / 8

    def sums(x: Any, y: Any) -> Any:
        total = 0
        for w in weights:
            total = total + (x @ w - y) * (x @ (w + 0.1))
        return total

    names = check_rewritten(sums, x, y, preset="n14")
    assert names.count("relayout") == 1


def test_products_with_more_columns_stay_in_one_ciphertext() -> None:
    x, wide = RNG.uniform(-1, 1, (64, 10)), RNG.normal(size=(10, 60)) / 40

    def hidden(x: Any) -> Any:
        return np.tanh(x @ wide)

    names = check_rewritten(hidden, x, preset="n14")
    assert names[names.index("matmul_plain") - 1] == "relayout"


def test_functions_of_few_elements_in_many_ciphertexts_are_computed_at_once() -> None:
    x = RNG.uniform(-1, 1, (32, 1024))

    def sparse(x: Any) -> Any:
        return np.tanh(x.sum(axis=1) / 1024)

    names = check_rewritten(sparse, x, preset="n13")
    assert "pack" in names


def test_operands_of_shallow_steps_are_lowered() -> None:
    x, weights = RNG.uniform(-1, 1, (32, 64)), RNG.normal(size=(64, 64)) / 64

    def two_branches(x: Any) -> Any:
        deep = x * x
        for _ in range(6):
            deep = deep * deep
        return deep.sum(axis=1), x @ weights

    names = check_rewritten(two_branches, x, preset="n14")
    assert names[names.index("matmul_plain") - 1] == "lower"


def long_function(x: Any) -> Any:
    y = x
    for i in range(4):
        y = y * y * 0.5 + x * (0.1 * i)
    return {"last": y, "mean": y.mean(), "same": x}


def stopping_after(steps: int) -> Callable[[int], None]:
    """Return a function that stops a run after this number of steps."""

    def stop(done: int) -> None:
        if done == steps:
            raise RuntimeError("stopped")

    return stop


def test_a_run_that_stops_goes_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hippocrene.checkpoints.SECONDS", 0.0)
    program = hp.compile(long_function, hp.spec(64, bound=1), preset="n14", precision=16)
    parties = Parties(program)
    values = np.linspace(-1, 1, 64)
    x = parties.client.encrypt(parties.interface, values)
    whole = parties.server.run(program, x)
    file = tmp_path / "run.checkpoint"

    with pytest.raises(RuntimeError, match="stopped"):
        parties.server.run(program, x, progress=stopping_after(6), checkpoint=file)
    assert file.exists()
    done: list[int] = []
    # Another process has the bytes of the same program and input.
    again = hp.Program.from_bytes(program.to_bytes())
    sent = hp.EncryptedArray.from_bytes(x.to_bytes())
    result = parties.server.run(again, sent, progress=done.append, checkpoint=file)
    assert done == list(range(6, len(program.steps) + 1))
    assert not file.exists()
    for name in ("last", "mean", "same"):
        assert result[name].to_bytes() == whole[name].to_bytes()
    assert (
        np.abs(parties.client.decrypt(result["last"]) - long_function(values)["last"]).max() < 1e-3
    )


def test_checkpoints_that_do_not_fit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hippocrene.checkpoints.SECONDS", 0.0)
    program = hp.compile(long_function, hp.spec(64, bound=1), preset="n14", precision=16)
    parties = Parties(program)
    x, y = (parties.client.encrypt(parties.interface, np.full(64, v)) for v in (0.1, 0.2))
    file = tmp_path / "run.checkpoint"

    with pytest.raises(RuntimeError, match="stopped"):
        parties.server.run(program, x, progress=stopping_after(3), checkpoint=file)
    with pytest.raises(
        hp.ArgumentError, match=r"of another program or of other inputs\. Remove it"
    ):
        parties.server.run(program, y, checkpoint=file)
    whole = file.read_bytes()
    for damaged in (whole[:-40], whole[:2000], b"", b"text", whole.replace(b"steps", b"staps")):
        file.write_bytes(damaged)
        with pytest.raises(hp.FormatError, match="is no checkpoint, or is damaged"):
            parties.server.run(program, x, checkpoint=file)
        assert file.read_bytes() == damaged
    with pytest.raises(hp.ShapeError):
        parties.server.run(program, parties.client.encrypt(np.ones(8), bound=1), checkpoint=file)
    with pytest.raises(FileNotFoundError):
        parties.server.run(program, x, checkpoint=tmp_path / "nowhere" / "run.checkpoint")


def test_a_limit_of_memory_refuses_programs_beforehand() -> None:
    program = hp.compile(lambda x: x * x, hp.spec(64, bound=1), preset="n13")
    parties = Parties(program)
    x = parties.client.encrypt(parties.interface, np.ones(64))
    assert parties.server.run(program, x, max_memory="1 GB").shape == (64,)
    with pytest.raises(
        hp.ArgumentError, match=r"^run: the program takes .* MB of memory, and 1 MB"
    ):
        parties.server.run(program, x, max_memory="1 MB")


def shrinking(x: Any, times: int = 6) -> Any:
    """Return a state after some rounds that use another encrypted array."""

    def step(state: tuple[Any, Any]) -> tuple[Any, Any]:
        y, z = state
        y = (0.5 * y**16 + 0.25 * x).with_interval((-1, 1))
        return y, (0.5 * (y + z)).with_interval((-1, 1))

    y, z = hp.repeat(step, times, (x * 1, (x * 0.5).with_interval((-1, 1))))
    return y, z


def test_a_loop_is_one_step_of_a_program_with_bootstraps() -> None:
    class Plain(np.ndarray):
        def with_interval(self, _: tuple[float, float]) -> Plain:
            return self

    def compiled(times: int) -> hp.Program:
        return hp.compile(
            lambda x: shrinking(x, times),
            hp.spec(16, bound=1),
            preset="n15",
            precision=14,
        )

    program = compiled(6)
    assert operations(program).count("repeat") == 1
    assert "pow" not in operations(program)
    # At most, each round bootstraps both arrays of the state.
    assert 0 < program.bootstraps <= 12
    assert len(compiled(12).to_bytes()) < 2 * len(program.to_bytes())
    assert program.to_bytes() == compiled(6).to_bytes()
    assert program.error_bound == np.inf
    parties = Parties(hp.Program.from_bytes(program.to_bytes()))
    values = np.linspace(-1, 1, 16)
    for result, expected in zip(parties(values), shrinking(values.view(Plain)), strict=True):
        np.testing.assert_allclose(result, expected, atol=2e-3)


def test_several_rounds_of_a_loop_share_a_bootstrap() -> None:
    def rounds(x: Any, times: int) -> Any:
        def step(y: Any) -> Any:
            return (0.98 * y - 0.01).with_interval((-1, 1))

        return hp.repeat(step, times, x.with_interval((-1, 1)))

    values = np.linspace(-1, 1, 16)
    for times in (200, 201):
        program = hp.compile(
            partial(rounds, times=times), hp.spec(16, bound=1), preset="n15", precision=14
        )
        assert operations(program).count("repeat") == 1
        assert 10 < program.bootstraps <= 100
        expected = 0.98**times * (values + 0.5) - 0.5
        np.testing.assert_allclose(hp.simulate(program, values).result, expected, atol=1e-2)


def test_a_declared_precision_replaces_the_error_of_a_loop() -> None:
    program = hp.compile(
        lambda x: shrinking(x)[0].with_precision_bits(10),
        hp.spec(16, bound=1),
        preset="n15",
        precision=14,
    )
    # The bound is 20 standard deviations.
    assert program.error_bound == pytest.approx(20 * 2**-10, rel=0.01)


def test_loops_without_bootstraps_are_unrolled_and_work_on_all_arrays() -> None:
    def halves(x: Any) -> Any:
        return hp.repeat(lambda y: y * 0.5 + 0.25, 3, x)

    values = np.linspace(-1, 1, 16)
    assert halves(8.0) == 1.4375
    program = hp.compile(halves, hp.spec(16, bound=1), preset="n14")
    assert "repeat" not in operations(program)
    np.testing.assert_allclose(Parties(program)(values), halves(values), atol=1e-4)
    np.testing.assert_allclose(hp.simulate(halves, values, preset="n14").result, halves(values))
    assert hp.repeat(lambda y: y / 0, 0, 3) == 3


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            lambda y: y * y + y,
            r"the interval of array 0 of the state grows from \[-1, 1\] to \[-1, 2\]",
        ),
        (
            lambda y: (y * y)[: y.shape[0] - 1],
            "array 0 of the state is 32 numbers in .*one round makes 31 numbers",
        ),
        (lambda y: (y * y, y), "a round returns 2 arrays, and the state has 1"),
        (
            lambda y: (y * y).with_precision(y.precision + 1),
            "the precision of array 0 of the state grows from 14 to 15 bits",
        ),
    ],
)
def test_rounds_that_change_the_header_of_a_loop_are_refused(step: Any, message: str) -> None:
    with pytest.raises(hp.ArgumentError, match=f"^repeat: {message}"):
        hp.compile(
            lambda x: hp.repeat(step, 30, x), hp.spec(32, bound=1), preset="n15", precision=14
        )


def test_a_refusal_is_that_of_the_preset_that_comes_nearest() -> None:
    def ordered(x: Any) -> Any:
        with x.server.at_distance(0.05):
            return np.sort(x)

    # Small presets lack keys for bootstraps. Larger ones have them, and lack precision.
    with pytest.raises(
        hp.ParameterError, match=r"nearest miss is 'n17.*': sort: .* a gap of 2.5e-2"
    ):
        hp.compile(ordered, hp.spec(16, bound=1), precision=12)


def test_functions_on_unlike_intervals_are_not_packed() -> None:
    def both(x: Any, y: Any) -> Any:
        return np.exp(x), np.exp(y)

    program = hp.compile(
        both, hp.spec(16, interval=(0, 1)), hp.spec(16, interval=(0, 5)), preset="n15", precision=16
    )
    small = Parties(program)(np.linspace(0, 1, 16), np.linspace(0, 5, 16))[0]
    # The default error is a 1024th of the range of each function.
    np.testing.assert_allclose(small, np.exp(np.linspace(0, 1, 16)), atol=2.5e-3)


def test_equal_states_of_a_loop_are_two_states() -> None:
    def swapped(state: Any) -> Any:
        y, z = state
        return (0.5 * y**16 + 0.25 * z).with_interval((-1, 1)), (y * 1).with_interval((-1, 1))

    class Plain(np.ndarray):
        def with_interval(self, _: tuple[float, float]) -> Any:
            return self

    def looped(x: Any) -> Any:
        return hp.repeat(swapped, 6, (x, x))

    program = hp.compile(looped, hp.spec(16, bound=1), preset="n15", precision=14)
    assert "repeat" in operations(program)
    values = np.linspace(-1, 1, 16)
    for result, expected in zip(Parties(program)(values), looped(values.view(Plain)), strict=True):
        np.testing.assert_allclose(result, expected, atol=2e-3)


def test_values_of_a_round_stay_in_the_loop() -> None:
    def leaking(x: Any) -> Any:
        seen = []

        def step(y: Any) -> Any:
            seen.append(y * y)
            return (0.5 * y**16).with_interval((-1, 1))

        return hp.repeat(step, 20, x), seen[0]

    with pytest.raises(hp.ArgumentError, match="a value of a round is used outside of its loop"):
        hp.compile(leaking, hp.spec(16, bound=1), preset="n15", precision=14)


def test_values_that_repeat_in_their_slots_go_through_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hippocrene.checkpoints.SECONDS", 0.0)
    program = hp.compile(lambda x: x * x.sum(), hp.spec(4096, bound=1), preset="n13")
    parties = Parties(program)
    x = parties.client.encrypt(parties.interface, np.full(4096, 2**-10))
    file = tmp_path / "run.checkpoint"

    with pytest.raises(RuntimeError, match="stopped"):
        parties.server.run(
            program, x, progress=stopping_after(len(program.steps) - 1), checkpoint=file
        )
    result = parties.server.run(program, x, checkpoint=file)
    np.testing.assert_allclose(parties.client.decrypt(result), 2**-8, atol=1e-4)
    assert list(tmp_path.iterdir()) == []


def test_the_first_run_also_encodes_plain_matrices() -> None:
    weights = np.random.default_rng(5).normal(size=(64, 64)) / 64
    program = hp.compile(lambda x: x @ weights, hp.spec((64, 64), bound=1), preset="n14")
    assert program.first_seconds > 1.2 * program.seconds
    assert f"{program.seconds:.3f}, the first run {program.first_seconds:.3f}" in str(program)
    assert sum(step.seconds for step in program.steps) == pytest.approx(program.seconds, rel=0.1)
    square = hp.compile(lambda x: x * x, hp.spec(64, bound=1), preset="n14")
    # It encodes nothing, and gets its memory all the same.
    assert square.seconds < square.first_seconds < square.seconds + 0.01


def test_compiled_programs_are_simulated_without_keys() -> None:
    program = hp.compile(
        lambda x, *, scale: {"scores": affine(x) * scale, "sum": x.sum()},
        hp.spec(ROWS.shape, bound=1),
        parameters={"scale": hp.spec(3, bound=2)},
        preset="n13",
    )
    scale = np.array([0.5, -1.0, 2.0])
    simulation = hp.simulate(program, ROWS, parameters={"scale": scale})
    assert simulation.result.keys() == {"scores", "sum"}
    np.testing.assert_allclose(simulation.result["scores"], affine(ROWS) * scale, atol=1e-6)
    np.testing.assert_allclose(simulation.result["sum"], ROWS.sum(), atol=1e-6)
    assert simulation.preset == "n13"
    assert abs(simulation.key_bytes / program.key_bytes - 1) < 0.01
    with pytest.raises(hp.ArgumentError, match="simulate: no parameters are given"):
        hp.simulate(program, ROWS)
    with pytest.raises(TypeError, match="already determines preset, precision and keys"):
        hp.simulate(program, ROWS, preset="n14")
    with pytest.raises(hp.ArgumentError, match="simulate: 2 inputs are given, and the program"):
        hp.simulate(program, ROWS, ROWS, parameters={"scale": scale})
    with pytest.raises(TypeError, match="parameters are those of a compiled program"):
        hp.simulate(affine, ROWS, parameters={"scale": scale})


def test_a_simulated_program_has_the_errors_of_its_functions() -> None:
    program = hp.compile(lambda x: np.tanh(affine(x)), hp.spec_like(ROWS), error=0.01)
    result = hp.simulate(program, ROWS).result
    errors = np.abs(result - np.tanh(affine(ROWS)))
    assert program.error_bound is not None
    assert 1e-6 < errors.max() <= program.error_bound <= 0.01


def test_a_sample_for_some_inputs_only_is_a_warning() -> None:
    specs = hp.spec_like(ROWS), hp.spec(ROWS.shape, bound=1)
    with pytest.warns(UserWarning, match="no sample for y. So intervals"):
        hp.compile(lambda x, y: x * y, *specs, preset="n13")


def test_errors_of_fine_comparisons_are_reached_with_bootstraps() -> None:
    program = hp.compile(
        lambda x: x.greater(0.3, gap=1e-5), hp.spec(4, bound=1), preset="n15", error=0.01
    )
    assert program.bootstraps > 0
    assert program.error_bound <= 0.01
    values = np.array([-0.5, 0.2999, 0.3001, 0.9])
    result = hp.simulate(program, values).result
    np.testing.assert_allclose(result, values > 0.3, atol=0.01)


def test_too_small_presets_lack_capacity_and_no_tables() -> None:
    for function in (np.std, np.sqrt, lambda x: 1 / x):
        with pytest.raises(
            hp.CapacityError, match=r"on the preset 'n13'\. Use preset=\"auto\""
        ) as told:
            hp.compile(function, hp.spec(64, interval=(0.1, 8)), preset="n13", precision=40)
        assert "table" not in str(told.value)
