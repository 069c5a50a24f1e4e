"""The programs whose dry runs are recorded: short expressions over encrypted arrays `x` and `y`.

In an expression, `P` is a plain array of the shape of `x`, `plain(3, 4)` one of another shape, and
`np` and `hp` are numpy and hippocrene. Values are drawn from a generator with a fixed seed,
uniformly from [-1, 1].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """One program to run dry: an expression, the shapes of `x` and `y`, and the arguments of `simulate`."""

    expression: str
    shapes: tuple[Shape, ...]
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The key of the program in the record, which tells programs apart."""
        shapes = " ".join("x".join(map(str, shape)) or "scalar" for shape in self.shapes)
        options = " ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.expression} | {shapes} | {options}"


N14 = {"preset": "n14"}
N15 = {"preset": "n15"}
N15_BOOTSTRAPS = {"preset": "n15", "precision": 14, "bootstrapping": True}
N15_TABLES = {"preset": "n15", "precision": 14, "tables": "lut11"}
BGV = {"preset": "n14", "scheme": "bgv", "plain_modulus": 65537}
BFV = {"preset": "n14", "scheme": "bfv", "plain_modulus": 65537}
BITS = {"preset": "bits14"}


def _each(
    expressions: str, shapes: list[tuple[Shape, ...]], *options: dict[str, Any]
) -> Iterator[Program]:
    """Combine every expression (one a line) with every list of shapes and every set of options."""
    for one in options:
        for expression in expressions.strip().splitlines():
            for each in shapes:
                yield Program(expression.strip(), each, one)


def _elementwise() -> Iterator[Program]:
    one = [((8,),), ((1000,),), ((20000,),), ((16, 16),), ((3, 5, 7),)]
    yield from _each(
        """
        x * x
        x * 3
        x * 0.3
        x + 1.5
        x * P
        x + P
        -x
        x**3
        x**7
        x / 3
        np.square(x) - x
        x * 0.5 + x * x
        """,
        one,
        N14,
    )
    yield from _each("x**2\nx * P + x\n(x + 1) * (x - 1)\nx**6", [((8,),), ((64, 40),)], N15)
    two = [
        ((16, 16), (16,)),
        ((16, 16), (16, 1)),
        ((8, 1), (1, 8)),
        ((4, 3, 5), (5,)),
        ((100, 3), (3,)),
    ]
    two += [((1000,), (1000,)), ((16, 16), ()), ((3, 1, 4), (2, 1))]
    yield from _each("x * y\nx + y\nx * y + x", two, N14)
    yield from _each("x * y\nx - y", two[:5], N15)
    yield from _each(
        "(x * (1 + 1j)).real\nx.conj() * x\nnp.imag(x * 1j)", [((8,),), ((5, 30),)], N14
    )


def _moves() -> Iterator[Program]:
    yield from _each(
        """
        x[::2] * 2
        x[1:] + x[:-1]
        x[::-1] + x
        np.roll(x, 3, axis=0) + x
        np.concatenate([x, x * 2])
        np.stack([x, x]) * 2
        np.tile(x, 2) + 1
        np.repeat(x, 3, axis=0) * 2
        np.pad(x, 1) + 1
        np.take(x, [3, 1, 2], axis=0) * x[:3]
        np.diff(x, axis=0)
        np.where(P > 0, x, 0.5)
        x.ravel() + 1
        x[0] * x[1]
        np.insert(x, 1, 0.5, axis=0)
        np.delete(x, [0, 2], axis=0) + 1
        np.sort(P, axis=None)[0] * x
        """,
        [((8,),), ((1000,),), ((16, 16),)],
        N14,
    )
    yield from _each(
        """
        x.T + x
        x.T @ plain(16, 3)
        np.triu(x) + x.T
        x[:, 0] + x[0]
        np.rot90(x) * x
        x.reshape(8, 32) + 1
        x.diagonal() * x[0]
        np.hstack([x, x[:, :3]]) * 2
        x[[1, 3]][:, [0, 5]] * 2
        np.trace(x)
        np.lib.stride_tricks.sliding_window_view(x[0], 5).sum(axis=1)
        np.flip(x, axis=1) - x
        """,
        [((16, 16),)],
        N14,
        N15,
    )


def _reductions() -> Iterator[Program]:
    yield from _each(
        """
        x.sum()
        x.mean()
        x.var()
        np.cumsum(x, axis=0)
        (x * x).sum()
        x - x.mean()
        np.dot(x.ravel(), x.ravel())
        """,
        [((8,),), ((300,),), ((16, 16),), ((100, 20),)],
        N14,
        N15,
    )
    yield from _each(
        "x.sum(axis=0)\nx.sum(axis=1)\nx.mean(axis=1, keepdims=True) * x\nx.var(axis=0)\nx.prod(axis=1)",
        [((16, 4),), ((100, 6),)],
        N15,
    )
    yield from _each(
        "np.average(x, axis=0, weights=P[:, 0])\nnp.cov(x)", [((6, 50),), ((3, 8),)], N15
    )


def _matrices() -> Iterator[Program]:
    square = [((16, 16),), ((64, 64),), ((100, 100),)]
    yield from _each("x @ P\nP @ x\nx @ x\nx @ P[0]\nP[0] @ x\nx @ x[0]", square, N14, N15)
    pairs = [
        ((16, 16), (16, 16)),
        ((100, 30), (30, 50)),
        ((64, 64), (64,)),
        ((7, 64), (64, 5)),
        ((2, 8, 8), (8, 8)),
    ]
    yield from _each("x @ y\nnp.matmul(x, y) + 1", pairs, N14, N15)
    yield from _each(
        "x.T @ x\nx @ x.T\nnp.einsum('ij,ik->jk', x, x)\nnp.inner(x, x)",
        [((16, 16),), ((60, 7),)],
        N15,
    )
    yield from _each(
        "np.outer(x, x)\nnp.convolve(x, plain(5))\nnp.kron(x, plain(4))\nnp.fft.fft(x)",
        [((8,),), ((64,),)],
        N14,
    )
    yield from _each(
        "np.linalg.matrix_power(x, 3)\nx @ (x @ P)\nnp.tensordot(x, x)",
        [((8, 8),), ((32, 32),)],
        N15,
    )
    yield from _each("x @ y", [((256, 16), (16,)), ((16, 256), (256,)), ((1000, 8), (8,))], N14)


def _polynomials() -> Iterator[Program]:
    yield from _each(
        """
        np.polyval([1.0, -2.0, 0.5, 3.0], x)
        np.polyval(plain(16), x)
        hp.approximate(np.exp, domain=(-1, 1), degree=15)(x)
        hp.approximate(np.tanh, domain=(-4, 4), degree=31)(x)
        """,
        [((8,),), ((1000,),)],
        N15,
        N15_BOOTSTRAPS,
    )
    yield from _each(
        """
        x.is_close(0.1, tolerance=0.2)
        x > 0.1
        np.sign(x)
        np.abs(x)
        np.maximum(x, 0.25)
        np.where(x > 0, x, -1)
        x.relu()
        np.clip(x, -0.5, 0.5)
        """,
        [((8,),), ((64, 4),)],
        N15_BOOTSTRAPS,
    )


def _bootstraps() -> Iterator[Program]:
    yield from _each(
        """
        x**64
        x**100 * x
        x * x * x * x * x * x
        (x @ x) @ (x @ x) @ x
        x.server.bootstrap(x)
        x.server.bootstrap(x) * x
        hp.approximate(np.exp, domain=(-1, 1), degree=63)(x * x)
        np.cumsum(x * x * x, axis=0) * x
        x.var() * x
        x @ P @ P.T @ P
        """,
        [((8, 8),), ((64, 64),)],
        N15_BOOTSTRAPS,
        {"preset": "n15", "precision": 20, "bootstrapping": True},
    )


def _integers() -> Iterator[Program]:
    yield from _each(
        """
        x * x
        x * 3 + 1
        x * P
        x + P
        x**3
        x.sum()
        x[::-1] * x
        np.roll(x, 1, axis=0) + x
        np.cumsum(x, axis=0)
        x[1:] - x[:-1]
        np.concatenate([x, x])
        np.polyval([1, 2, 3, 4], x)
        """,
        [((8,),), ((1000,),), ((16, 16),)],
        BGV,
        BFV,
    )
    yield from _each(
        "x @ P\nP @ x\nx @ x\nx.T + x\nx.sum(axis=1)\nx @ x[0]",
        [((16, 16),), ((40, 40),)],
        BGV,
        BFV,
    )
    yield from _each("x * y\nx + y\nx @ y", [((16, 16), (16,)), ((64, 64), (64,))], BGV, BFV)


def _tables() -> Iterator[Program]:
    yield from _each(
        """
        x.apply(np.tanh, look_ups=3)
        x.sigmoid()
        np.sqrt(x + 1)
        np.sort(x)
        np.argsort(x)
        np.max(x)
        np.argmax(x)
        np.median(x)
        x > 0.1
        np.sign(x)
        np.abs(x)
        np.clip(x, -0.5, 0.5)
        np.maximum(x, 0.25)
        x.relu()
        np.quantile(x, 0.3)
        x.top_k(2)
        np.std(x)
        (x + 2).reciprocal()
        """,
        [((8,),), ((16,),)],
        N15_TABLES,
    )
    yield from _each(
        "np.sort(x, axis=1)\nnp.max(x, axis=0)\nx.max_pool(2)\nnp.argmin(x, axis=1)",
        [((4, 4),)],
        N15_TABLES,
    )
    yield from _each("np.histogram(x, [-1.0, 0.0, 1.0])[0]\nnp.ptp(x)", [((8,),)], N15_TABLES)


def _bits() -> Iterator[Program]:
    yield from _each(
        "x & y\nx | y\nx ^ y\n~x\n(x & y) | (x ^ y)\nx[::-1] & y",
        [((8,), (8,)), ((1000,), (1000,))],
        BITS,
    )
    yield from _each("x.any()\nx.all()", [((8,), (8,))], BITS)


def programs() -> list[Program]:
    """Return all programs, each once."""
    families = (
        _elementwise,
        _moves,
        _reductions,
        _matrices,
        _polynomials,
        _bootstraps,
        _integers,
        _tables,
        _bits,
    )
    return list({program.name: program for family in families for program in family()}.values())
