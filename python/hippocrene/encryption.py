"""Encryption of plain values with any kind of key."""

from __future__ import annotations

from typing import TypeAlias

import numpy.typing as npt

from hippocrene import _native
from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.values.operands import (
    booleans,
    check_finite,
    integers,
    naming_columns,
    numbers,
    to_native,
    without_wrapping,
)
from hippocrene.values.scalars import declared_interval, double_or_none

# A secret key, a public key, a simulated one, or none: such arrays can be read by everyone.
_Key: TypeAlias = (
    _native.ClientKey | _native.PublicKey | _native.Simulation | _native.TrivialEncryption
)

# The advice in errors about missing values.
_MASK = "replace missing values, for example by 0, and also encrypt a mask of ones and zeros"


def encrypt(
    key: _Key,
    values: npt.ArrayLike,
    interval: tuple[float, float] | None,
    bound: float | None,
    precision: float | None,
    wrap: bool,
) -> EncryptedArray:
    """Make an array of plain values with a key.

    The arguments are those of `Client.encrypt`.
    """
    ends = declared_interval(interval, bound)
    if isinstance(values, EncryptedArray):
        raise TypeError("encrypt: the array is encrypted already. Compute with server.load(x).")
    if not isinstance(key, _native.TrivialEncryption) and key.for_bits:
        bits = booleans(values, "encrypt")
        if bits is not None:
            if ends is not None or precision is not None or wrap:
                raise TypeError(
                    "encrypt: encrypted bits have neither interval nor precision, and do not wrap "
                    "around"
                )
            return EncryptedArray(key.encrypt_bits(bits))
    if key.plain_modulus is None:
        with naming_columns(values):
            plain = numbers(values, "encrypt")
            check_finite(plain, "encrypt", "encrypted", _MASK)
            raw = to_native(plain, "encrypt")
        if wrap:
            raise TypeError("encrypt: wrap is for integers, which compute modulo a plain modulus")
        return EncryptedArray(key.encrypt(raw, (ends, double_or_none(precision, "a precision"))))
    if precision is not None:
        raise TypeError("encrypt: encrypted integers are exact and have no precision")
    whole = integers(values, "encrypt", key.plain_modulus)
    if not wrap:
        whole = without_wrapping(values, whole, key.plain_modulus)
    return EncryptedArray(key.encrypt(whole, (ends, None)))
