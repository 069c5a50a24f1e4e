"""Advice on encoding dates, categories and other values as numbers."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np
import numpy.typing as npt

_DATE = (
    "Encode dates as numbers, such as days since a first day: "
    "(dates - numpy.datetime64('2020-01-01')) / numpy.timedelta64(1, 'D')"
)
_DURATION = "Encode durations as numbers, such as days: durations / numpy.timedelta64(1, 'D')"
_CATEGORY = (
    "Encode categories as integers (pandas.factorize) or as a column of 0 and 1 for each category "
    "(pandas.get_dummies)"
)
_FILE = "Read a file first, for example with numpy.loadtxt(path, delimiter=',') or pandas.read_csv(path)"
_COMMA = "Write a decimal point instead of the comma, and no thousands separators (pandas.read_csv(path, decimal=','))"
_MISSING = "A value is missing: fill it in (pandas: fillna) or leave it out (dropna)"

# The names of the types of missing values: None, pandas.NA and pandas.NaT.
_MISSING_TYPES = ("NoneType", "NAType", "NaTType")

# Texts such as 2020-01-31, 31.01.2020, 1/31/20, 2020-01 and 12:30.
_DATE_TEXT = re.compile(r"\s*(\d+([-/.])\d+\2\d+(?!\d)|\d{4}[-/]\d{1,2}\b|\d+:\d+)")

_FILE_TEXT = re.compile(r"\.(csv|npy|npz|parquet|tsv|txt|xlsx?)\s*$", re.IGNORECASE)

_COMMA_TEXT = re.compile(r"\s*[-+]?[\d.,]*\d,\d[\d.,]*\s*")

_NUMBER_TEXT = re.compile(r"\s*[-+]?([.,]?\d|(inf|nan)\b)", re.IGNORECASE)


def advice(value: object) -> str:
    """Return a sentence on how to encode a value, or values of a numpy type, if it is known."""
    if isinstance(value, np.dtype):
        return {"M": _DATE, "m": _DURATION}.get(value.kind, "")
    if type(value).__name__ in _MISSING_TYPES:
        return _MISSING
    if isinstance(value, (datetime.timedelta, np.timedelta64)):
        return _DURATION
    if isinstance(value, (datetime.date, np.datetime64)) or type(value).__name__ == "Period":
        return _DATE
    if isinstance(value, os.PathLike):
        return _FILE
    if isinstance(value, Mapping):
        return "Pass the values of a mapping in a list: list(mapping.values())"
    if isinstance(value, (Set, Iterator)):
        return "Pass a list: list(values)"
    if isinstance(value, (str, bytes)):
        return _of_text(value.decode("utf-8", "replace") if isinstance(value, bytes) else value)
    return ""


def _of_text(text: str) -> str:
    if not text.strip():
        return _MISSING
    if _FILE_TEXT.search(text):
        return _FILE
    if _COMMA_TEXT.fullmatch(text):
        return _COMMA
    if _DATE_TEXT.match(text):
        return f"{_DATE}. pandas.to_datetime reads text"
    # Text that begins like a number is a misspelt number.
    return "" if _NUMBER_TEXT.match(text) else _CATEGORY


def advised(message: str, value: object) -> str:
    """Return an error message, followed by the advice on a value if there is any."""
    sentence = advice(value)
    return f"{message}. {sentence}." if sentence else message


def unencoded(array: npt.NDArray[Any]) -> object:
    """Return the value of an array that `advised` should explain.

    It is the first text that is no number, or else the type of the values.
    """
    texts = array.flat if array.dtype.kind in "US" else ()
    return next((text for text in texts if advice(text)), array.dtype)
