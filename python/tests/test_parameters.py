"""Parameters of programs, which the server provides, and the goals of compilation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hippocrene as hp

RNG = np.random.default_rng(3)
ROWS = RNG.uniform(-1, 1, (8, 6))
WEIGHTS = hp.spec(6, bound=2)


def score(x: Any, weights: Any, bias: Any) -> Any:
    return (x @ weights + bias) ** 2


class Scoring:
    """A compiled score, and a client and a server for it."""

    def __init__(self) -> None:
        """Compile the score and make its keys."""
        parameters = {"weights": WEIGHTS, "bias": hp.spec((), bound=1)}
        self.program = hp.compile(
            score, hp.spec((8, 6), bound=1), parameters=parameters, preset="n13"
        )
        self.interface = self.program.interface()
        self.client = hp.Client.generate(self.interface)
        self.server = hp.Server(self.client.evaluation_keys(self.interface))
        self.rows = self.client.encrypt(self.interface, ROWS)

    def error(self, weights: Any, bias: float, **options: Any) -> float:
        """Return the largest error of a run with these parameters."""
        given = {"bias": bias, "weights": weights}
        reply = self.server.run(self.program, self.rows, parameters=given, **options)
        return float(np.abs(self.client.decrypt(reply) - score(ROWS, weights, bias)).max())


@pytest.fixture(scope="module")
def scoring() -> Scoring:
    return Scoring()


def test_a_program_runs_with_any_values_of_its_parameters(scoring: Scoring, tmp_path: Path) -> None:
    assert list(scoring.program.inputs) == list(scoring.interface.inputs) == ["x"]
    assert {name: str(spec) for name, spec in scoring.program.parameters.items()} == {
        "weights": "6 numbers in [-2, 2]",
        "bias": "one number in [-1, 1]",
    }
    assert "weights = 6 numbers in [-2, 2], of the server" in str(scoring.program)
    bound = scoring.program.error_bound
    assert bound is not None
    assert bound < 1e-4
    for weights, bias in [
        (RNG.uniform(-2, 2, 6), 0.5),
        (np.zeros(6), -1.0),
        (np.full(6, 2.0), 1.0),
    ]:
        assert scoring.error(weights, bias) <= bound
    path = tmp_path / "run.checkpoint"
    assert scoring.error(np.linspace(-2, 2, 6), 0.25, checkpoint=path) <= bound
    loaded = hp.Program.from_bytes(scoring.program.to_bytes())
    assert list(loaded.parameters) == ["weights", "bias"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (None, "no parameters are given, and the program takes weights and bias"),
        ({"weights": np.zeros(6)}, "the parameters weights are given"),
        ({"weights": np.zeros(6), "bias": 0, "other": 1}, "weights, bias and other are given"),
        ({"weights": np.zeros(5), "bias": 0}, r"the parameter weights has shape \(5,\)"),
        (
            {"weights": np.full(6, 2.5), "bias": 0},
            r"the parameter weights: the value at .* Pass 6 numbers in \[-2, 2\], or compile",
        ),
        ({"weights": np.full(6, np.nan), "bias": 0}, "the parameter weights: nan at position 0"),
        ({"weights": ["a"] * 6, "bias": 0}, "the parameter weights: "),
        ({"weights": [[1], [1, 2]], "bias": 0}, "the parameter weights: "),
        ([("weights", 1)], "parameters are plain values by name, not list"),
    ],
)
def test_wrong_parameters_are_refused_by_name(
    scoring: Scoring, parameters: Any, message: str
) -> None:
    with pytest.raises((hp.HippocreneError, TypeError), match=message):
        scoring.server.run(scoring.program, scoring.rows, parameters=parameters)


def test_parameters_of_programs_without_any_are_refused(scoring: Scoring) -> None:
    program = hp.compile(lambda x: x + 1, hp.spec((8, 6), bound=1), preset="n13")
    with pytest.raises(hp.ArgumentError, match="and the program has none"):
        scoring.server.run(program, scoring.rows, parameters={"weights": np.zeros(6)})


def test_parameters_of_integers_are_exact() -> None:
    program = hp.compile(
        lambda x, factor: x * factor,
        hp.spec(4, interval=(0, 10), kind="integers"),
        parameters={"factor": hp.spec(4, interval=(-5, 5), kind="integers")},
        scheme="bfv",
        plain_modulus=65537,
        preset="n13",
    )
    interface = program.interface()
    client = hp.Client.generate(interface)
    server = hp.Server(client.evaluation_keys(interface))
    x = client.encrypt(interface, [1, 2, 3, 10])
    reply = server.run(program, x, parameters={"factor": [-5, 4, 0, 5]})
    assert client.decrypt(reply, signed=True).tolist() == [-5, 8, 0, 50]


def test_arguments_about_parameters_are_checked() -> None:
    x = hp.spec(4, bound=1)
    with pytest.raises(TypeError, match="the function does not take 1 arrays and the parameters b"):
        hp.compile(lambda a: a, x, parameters={"b": x})
    with pytest.raises(TypeError, match="parameters are specifications by name, not list"):
        hp.compile(lambda a, b: a + b, x, parameters=["b"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="multiple values for argument 'a'"):
        hp.compile(lambda a: a, x, parameters={"a": x})
    with pytest.raises(TypeError, match="inputs and parameters are specifications, not list"):
        hp.compile(lambda a, b: a + b, x, parameters={"b": [1]})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="at least one encrypted array"):
        hp.compile(lambda a: a + 1, parameters={"a": x})
    with pytest.raises(hp.ArgumentError, match="two inputs or parameters have the name a0"):
        hp.compile(lambda *a, a0: a[0] + a[1] + a0, x, x, parameters={"a0": x}, preset="n13")
    with pytest.raises(hp.ArgumentError, match="result 2 depends on no input of the client"):
        hp.compile(lambda a, b: (a + b, 2 * b), x, parameters={"b": x}, preset="n13")
    with pytest.raises(hp.ArgumentError, match="the parameter b holds bits"):
        hp.compile(
            lambda a, b: a & b,
            hp.spec(4, kind="bits"),
            parameters={"b": hp.spec(4, kind="bits")},
        )


def test_the_smallest_keys_and_the_most_throughput_can_be_chosen() -> None:
    matrix = RNG.normal(size=(64, 64)) / 8

    def compiled(optimize: Any, **options: Any) -> hp.Program:
        return hp.compile(
            lambda x: (x @ matrix) ** 2, hp.spec((32, 64), bound=1), optimize=optimize, **options
        )

    fast, small = compiled("latency"), compiled("keys")
    assert small.key_bytes < fast.key_bytes
    assert fast.seconds < small.seconds
    # With memory for one run only, the most runs per second are those of the fastest program.
    alone = compiled("throughput", max_memory=fast.peak_memory)
    assert alone.seconds == fast.seconds
    with pytest.raises(hp.ArgumentError, match="optimize is one of latency, throughput, keys"):
        compiled("speed")


def test_real_values_serve_as_complex_parameters() -> None:
    program = hp.compile(
        lambda x, factor: x * factor,
        hp.spec(2, bound=1),
        parameters={"factor": hp.spec(2, bound=2, kind="complex")},
        preset="n13",
    )
    interface = program.interface()
    client = hp.Client.generate(interface)
    server = hp.Server(client.evaluation_keys(interface))
    x = client.encrypt(interface, [1.0, -0.5])
    for factor in ([2, 1], [1j, 1 - 1j]):
        found = client.decrypt(server.run(program, x, parameters={"factor": factor}))
        np.testing.assert_allclose(found, np.array([1.0, -0.5]) * factor, atol=1e-6)


def test_the_keys_stay_if_fewer_rotations_are_not_precise_enough() -> None:
    matrix = np.random.default_rng(1).normal(size=(64, 64)) / 20

    def compared(x: Any) -> Any:
        return (x @ matrix).with_interval((-1, 1)).greater(0, gap=0.0136, precision=4)

    fast, small = (
        hp.compile(
            compared,
            hp.spec((8, 64), bound=1),
            preset="n15",
            precision=10,
            bootstrapping=False,
            optimize=goal,
        )
        for goal in ("latency", "keys")
    )
    assert small.key_bytes == fast.key_bytes


def test_throughput_counts_the_runs_that_fit_the_memory() -> None:
    from hippocrene.automatic import most_throughput

    class Run:
        seconds, peak_memory = 6.0, 300

    assert most_throughput(1000, 2).cost(Run()) == 3.0  # type: ignore[arg-type]
    assert most_throughput(1000, 8).cost(Run()) == 2.0  # type: ignore[arg-type]
    assert most_throughput(100, 8).cost(Run()) == 6.0  # type: ignore[arg-type]


def test_programs_with_few_keys_run_with_these_keys() -> None:
    matrix = RNG.normal(size=(6, 6)) / 4
    program = hp.compile(
        lambda x: x @ matrix, hp.spec((8, 6), bound=1), optimize="keys", preset="n13"
    )
    interface = program.interface()
    client = hp.Client.generate(interface)
    server = hp.Server(client.evaluation_keys(interface))
    found = client.decrypt(server.run(program, client.encrypt(interface, ROWS)))
    assert program.error_bound is not None
    assert np.abs(found - ROWS @ matrix).max() <= program.error_bound < 1e-4
