"""Compute on encrypted numpy arrays.

A `Client` holds the secret key. It encrypts arrays, decrypts results and makes evaluation keys. A
`Server` with evaluation keys computes on the encrypted arrays and cannot read them.
"""

from typing import TYPE_CHECKING, NoReturn

from hippocrene import clustering, gates, models, numpy, plot, trees  # noqa: F401
from hippocrene._native import (
    BootstrappingDescription,
    Preset,
    TablesDescription,
    __version__,
    presets,
)
from hippocrene.arrays.bits import BitArray
from hippocrene.arrays.encrypted import EncryptedArray
from hippocrene.arrays.integers import IntegerArray
from hippocrene.arrays.numbers import NumberArray
from hippocrene.client import Client, PublicKey
from hippocrene.compiling import compile  # noqa: A004
from hippocrene.deadlines import CancelToken, deadline
from hippocrene.errors import (
    ArgumentError,
    BudgetError,
    Cancelled,
    CapacityError,
    DeadlineExceeded,
    EncodeError,
    FileError,
    FormatError,
    HippocreneError,
    InternalError,
    KeyMismatchError,
    MachineError,
    MissingKeyError,
    MissingServerError,
    OutOfIntervalError,
    ParameterError,
    ParameterMismatchError,
    ScaleError,
    SecretKeyWarning,
    SecretPickleError,
    SecurityError,
    ShapeError,
    StoppedError,
    UnsupportedError,
)
from hippocrene.inspection import inspect
from hippocrene.keys import EvaluationKeys, TransferKey
from hippocrene.limits import Limits
from hippocrene.loops import repeat
from hippocrene.numpy.activations import relu, sigmoid
from hippocrene.numpy.polynomials import polyval
from hippocrene.program import Interface, Program, Step
from hippocrene.requirements import Bootstrapping, LookUps
from hippocrene.server import Server, ServerMemory, cache_budget, set_cache_budget
from hippocrene.simulation import simulate
from hippocrene.simulation_report import Simulation
from hippocrene.specs import Spec, spec, spec_like
from hippocrene.values.approximation import Approximation, approximate
from hippocrene.values.operands import plain_modulus

__all__ = [
    "Approximation",
    "ArgumentError",
    "BitArray",
    "Bootstrapping",
    "BootstrappingDescription",
    "BudgetError",
    "CancelToken",
    "Cancelled",
    "CapacityError",
    "Client",
    "DeadlineExceeded",
    "EncodeError",
    "EncryptedArray",
    "EvaluationKeys",
    "FileError",
    "FormatError",
    "HippocreneError",
    "IntegerArray",
    "Interface",
    "InternalError",
    "KeyMismatchError",
    "Limits",
    "LookUps",
    "MachineError",
    "MissingKeyError",
    "MissingServerError",
    "NumberArray",
    "OutOfIntervalError",
    "ParameterError",
    "ParameterMismatchError",
    "Preset",
    "Program",
    "PublicKey",
    "ScaleError",
    "SecretKeyWarning",
    "SecretPickleError",
    "SecurityError",
    "Server",
    "ServerMemory",
    "ShapeError",
    "Simulation",
    "Spec",
    "Step",
    "StoppedError",
    "TablesDescription",
    "TransferKey",
    "UnsupportedError",
    "__version__",
    "approximate",
    "cache_budget",
    "clustering",
    "compile",
    "deadline",
    "gates",
    "inspect",
    "models",
    "plain_modulus",
    "plot",
    "polyval",
    "presets",
    "relu",
    "repeat",
    "set_cache_budget",
    "sigmoid",
    "simulate",
    "spec",
    "spec_like",
    "trees",
]

# Methods that are not functions of this module, with their objects.
_METHODS = {
    "decrypt": "client.decrypt(x)",
    "encrypt": "client.encrypt(values)",
    "generate": "Client.generate(preset)",
    "load": "Client.load, EvaluationKeys.load, EncryptedArray.load or server.load",
}

# Type checkers should not accept every attribute.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        """Refuse names that are methods of objects, with advice."""
        instead = f": use {_METHODS[name]}" if name in _METHODS else ""
        raise AttributeError(f"module 'hippocrene' has no attribute {name!r}{instead}")
