"""Affine maps of rows, with plain coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """The map of a row `x` of ``n`` values to ``x @ matrix + shift``.

    - `matrix`: doubles of shape ``(n, m)``, or ``(n,)`` if the result is one number for each row.
    - `shift`: doubles of shape ``(m,)``, or ``()`` in the second case.

    Two maps in a row are one map. `then` computes its coefficients in plain numpy, so that an
    encrypted array is multiplied by one matrix only.

    >>> import numpy as np
    >>> scaler = Affine.scaling(np.array([0.5, 2.0]), np.array([-1.0, 0.0]))
    >>> score = Affine(np.array([1.0, 3.0]), np.array(10.0))
    >>> scaler.then(score)(np.array([[4.0, 1.0]])).tolist()
    [17.0]
    """

    matrix: _Doubles
    shift: _Doubles

    @classmethod
    def scaling(cls, factors: _Doubles, shift: _Doubles | float = 0.0) -> Affine:
        """Return the map that multiplies each column by a factor and then adds a number.

        `factors` has the shape ``(n,)``. `shift` has the same shape, or is one number for all
        columns.
        """
        return cls(np.diag(factors), np.broadcast_to(np.float64(shift), factors.shape))

    @classmethod
    def identity(cls, count: int) -> Affine:
        """Return the map of `count` columns that changes nothing."""
        return cls.scaling(np.ones(count))

    @property
    def is_scaling(self) -> bool:
        """True if every result depends on the column of its own number only."""
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            return False
        return bool(np.all(self.matrix == np.diag(np.diagonal(self.matrix))))

    def then(self, after: Affine) -> Affine:
        """Return the map that applies this map first and `after` to its results.

        `after.matrix` needs as many rows as this map has results for each row.
        """
        return Affine(self.matrix @ after.matrix, self.shift @ after.matrix + after.shift)

    def column_wise(self) -> Affine:
        """Return the same map with a matrix of two axes, also if there is one result for a row."""
        return Affine(self.matrix.reshape(len(self.matrix), -1), self.shift.reshape(-1))

    def __call__(self, *parts: Any) -> Any:
        """Return the results for rows that are split into parts by columns.

        Each part is an encrypted or a plain array of shape ``(rows, columns)``. Together they have
        ``n`` columns. The result has the shape ``(rows, m)`` or ``(rows,)``.
        """
        total, first = self.shift, 0
        for part in parts:
            last = first + part.shape[1]
            total = part @ self.matrix[first:last] + total
            first = last
        return total
