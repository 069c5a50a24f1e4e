"""numpy's functions of encrypted arrays, in terms of their operations.

These modules register their functions in `hippocrene.arrays.registry`.
"""

from hippocrene.numpy import (  # noqa: F401
    einsum,
    linear,
    moves,
    polynomials,
    products,
    selection,
    statistics,
    ufuncs,
)
