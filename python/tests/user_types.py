"""A program of a user for the type checker. `make test` runs mypy on it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import cast

import numpy as np

from hippocrene import Client, EncryptedArray, Server, approximate


def score(client: Client, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    server = Server(client.evaluation_keys(rotations=[1, 2]), threads=2)
    encrypted: EncryptedArray = server.load(client.encrypt(values).to_bytes())
    results: list[EncryptedArray] = [
        encrypted @ values + 1.0,
        values @ encrypted,
        values + encrypted,
        values - encrypted,
        values * encrypted,
        2 - encrypted,
        Fraction(1, 3) * encrypted / Decimal("1.5"),
        np.float64(2.0) * encrypted,
        (encrypted**2).mean(axis=(0, 1), keepdims=True).T,
        encrypted[1:, 0],
        encrypted[[True, False], ..., None],
        encrypted.reshape(2, -1),
        *encrypted,
        encrypted.polynomial(np.polynomial.Chebyshev([0.0, 1.0])),
        approximate(np.tanh, domain=(-1, 1), degree=3)(encrypted),
    ]
    for row in encrypted:
        results.append(row.reshape((-1,))[0])
    # To type checkers, numpy's functions return an ndarray, since they do not know
    # `__array_function__`.
    results.append(cast("EncryptedArray", np.concatenate([encrypted, encrypted])))
    bits = encrypted & ~encrypted | (encrypted ^ [True]).nand(np.array([True]))
    results += server.gates(("xor", "and"), bits, encrypted)
    return float(client.decrypt(sum(results[1:], start=results[0])).real.max())
