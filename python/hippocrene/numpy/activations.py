"""Functions of neural networks that numpy lacks, of encrypted and plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from hippocrene.numpy.arguments import is_encrypted
from hippocrene.values.operands import to_array


def sigmoid(x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))`` of every value of an encrypted or a plain array.

    For an encrypted array this is `NumberArray.sigmoid`.

    >>> float(sigmoid(0.0))
    0.5
    """
    if is_encrypted(x):
        return x.sigmoid()
    return 0.5 + 0.5 * np.tanh(0.5 * to_array(x, "sigmoid"))


def relu(x: Any) -> Any:
    """Return every positive value of an encrypted or a plain array, and 0 in place of the others.

    For an encrypted array this is `NumberArray.relu`.

    >>> relu([-1.5, 2.0]).tolist()
    [0.0, 2.0]
    """
    if is_encrypted(x):
        return x.relu()
    return np.maximum(to_array(x, "relu"), 0.0)
