from __future__ import annotations

import operator
import re
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest
import sklearn.linear_model

import hippocrene
from hippocrene import (
    ArgumentError,
    CapacityError,
    EncodeError,
    HippocreneError,
    KeyMismatchError,
    MissingKeyError,
    MissingServerError,
    ParameterError,
    ShapeError,
    _native,
    errors,
)
from hippocrene.models.clustering import EncryptedKMeans


def test_every_kind_of_the_rust_library_has_its_exception():
    kinds = _native.error_kinds()
    assert len(kinds) == len(set(kinds)) > 5
    for kind in kinds:
        assert issubclass(getattr(errors, kind), HippocreneError)
    raised_in_python = {
        "Cancelled",
        "DeadlineExceeded",
        "HippocreneError",
        "MissingServerError",
        "SecretPickleError",
        "UnsupportedError",
    }
    classes = {name: value for name, value in vars(errors).items() if isinstance(value, type)}
    declared = {name for name, value in classes.items() if issubclass(value, Exception)}
    assert declared == set(kinds) | raised_in_python | {"SecretKeyWarning"}
    assert declared <= set(hippocrene.__all__)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(client, server, bad):
    with pytest.raises(EncodeError, match="2"):
        client.encrypt([1.0, 2.0, bad])
    with pytest.raises(EncodeError):
        server.load(client.encrypt([1.0, 2.0])) + np.array([1.0, bad])
    with pytest.raises(EncodeError):
        server.load(client.encrypt([1.0, 2.0])) * np.array([bad, 1.0])
    for compute in (operator.add, operator.mul):
        with pytest.raises((ArgumentError, EncodeError), match="finite"):
            compute(server.load(client.encrypt([1.0, 2.0])), bad)


def test_values_too_large(client):
    with pytest.raises(
        EncodeError,
        match=r"^encrypt: the value at row 0, column 1 \(counted from 0\) is too large: at a "
        r"precision of 32 bits, these parameters hold values up to about 6e82\. Divide the values",
    ):
        client.encrypt([[1.0, 1e300]])


def test_bounds_tell_only_the_magnitude_or_what_was_declared(client):
    assert client.encrypt([0.1, -5.0]).bound == 8.0
    assert client.encrypt([0.1]).bound == 1.0
    assert client.encrypt([0.1, -5.0], bound=100.0).bound == 100.0
    assert client.public_key().encrypt([0.1], bound=0.5).bound == 0.5
    with pytest.raises(
        ArgumentError,
        match=r"^encrypt: the value at position 1 \(counted from 0\) lies outside the interval from "
        r"-4 to 4\. Pass a wider interval= \(or bound=\), or divide the values by a number first\.$",
    ):
        client.encrypt([0.1, -5.0], bound=4.0)
    with pytest.raises(
        ArgumentError,
        match=r"^encrypt: the value at row 1, column 0 .* the interval from -1e-300 to 1e-300\.",
    ):
        client.encrypt([[0.0, 0.0], [0.3, 1.0]], bound=1e-300)
    with pytest.raises(ArgumentError):
        client.encrypt([0.0], bound=np.inf)


def test_shapes_that_do_not_fit(client, server):
    encrypted = server.load(client.encrypt(np.ones((2, 3))))
    with pytest.raises(ShapeError, match=r"2, 3"):
        encrypted + np.ones(4)
    with pytest.raises(ShapeError, match=r"2, 3"):
        encrypted + server.load(client.encrypt(np.ones((3, 2))))
    with pytest.raises(ShapeError, match=r"2, 3"):
        encrypted @ np.ones((2, 3))
    with pytest.raises(ShapeError, match="axis 2"):
        encrypted.sum(axis=2)


def test_axes_that_there_are_not_and_results_without_elements_name_what_was_called(client, server):
    x = server.load(client.encrypt(np.ones((3, 4))))
    v = server.load(client.encrypt(np.ones(3)))
    named = {
        "sum": [lambda: x.sum(axis=5), lambda: np.sum(x, (0, 0)), lambda: np.add.reduce(x, 2)],
        "mean": [lambda: x.mean(axis=5), lambda: np.mean(x, -3)],
        "average": [lambda: np.average(x, 5), lambda: np.average(x, 5, weights=[1, 2, 3])],
        "var": [lambda: x.var(axis=5)],
        "std": [lambda: x.std(axis=5)],
        "prod": [lambda: x.prod(axis=5)],
        "cumsum": [lambda: np.cumsum(x, 5)],
        "max": [lambda: x.max(axis=5)],
        "argmin": [lambda: x.argmin(axis=5)],
        "sort": [lambda: x.sort(axis=5)],
        "percentile": [lambda: np.percentile(x, 5, axis=5)],
        "ptp": [lambda: np.ptp(x, axis=5)],
        "roll": [lambda: x.roll(1, axis=5)],
        "swapaxes": [lambda: x.swapaxes(0, 5)],
        "trace": [lambda: x.trace(0, 0, 5)],
        "cross": [lambda: np.cross(x, x, axis=5)],
        "gradient": [lambda: np.gradient(x, axis=5)],
        "numpy.flip": [lambda: np.flip(x, 5)],
        "diff": [lambda: np.diff(v, axis=1), lambda: np.diff(v, 3)],
        "indexing": [lambda: x[:0]],
        "take": [lambda: x.take([])],
        "diagonal": [lambda: x.diagonal(9)],
        "numpy.delete": [lambda: np.delete(v, [0, 1, 2])],
        "add": [lambda: v + np.zeros((0, 3)), lambda: v + np.zeros((0, 1))],
        "where": [lambda: np.where(np.zeros((0, 3)), v, 0)],
        "broadcast_to": [lambda: np.broadcast_to(v, (0, 3))],
        "matmul": [lambda: v @ np.zeros((3, 0))],
        "outer": [lambda: np.outer(v, [])],
        "kron": [lambda: np.kron(v, [])],
        "einsum": [lambda: np.einsum("i,j->ij", v, [])],
        "encrypt": [lambda: client.encrypt([]), lambda: client.encrypt(np.ones((0, 3)))],
    }
    for name, calls in named.items():
        for compute in calls:
            with pytest.raises(ShapeError) as caught:
                compute()
            assert str(caught.value).startswith(f"{name}: "), (name, str(caught.value))


def test_places_that_there_are_not_name_what_was_called(client, server):
    x = server.load(client.encrypt(np.ones((3, 4))))
    for name, compute in {
        "indexing": lambda: x[7],
        "take": lambda: x.take([99]),
        "numpy.take": lambda: np.take(x, [99]),
        "numpy.delete": lambda: np.delete(x, 7, 0),
    }.items():
        with pytest.raises(IndexError, match=f"^{name}: .*out of bounds"):
            compute()


def test_differences_name_what_was_called(client, server):
    x = server.load(client.encrypt(np.ones((3, 4))))
    named = {
        "greater": lambda w: x > w,
        "less": lambda w: x <= w,
        "maximum": lambda w: np.maximum(x, w),
        "minimum": lambda w: x.minimum(w),
        "clip": lambda w: x.clip(w),
        "is_close": lambda w: x.is_close(w, tolerance=0.1),
    }
    for name, compute in named.items():
        with pytest.raises(ShapeError, match=rf"^{name}: shapes .* broadcast together"):
            compute(np.ones(3))
        with pytest.raises(EncodeError, match=rf"^{name}: nan: only finite"):
            compute(np.nan)
    with pytest.raises(ShapeError, match=r"^is_close: shapes .* broadcast together"):
        x.is_close(server.load(client.encrypt(np.ones(3))), tolerance=0.1)
    for compute in (lambda w: w - x, lambda w: x - w):
        with pytest.raises(ShapeError, match=r"^sub: shapes .* broadcast together"):
            compute(np.ones(3))
        with pytest.raises(EncodeError, match=r"^sub: nan: only finite"):
            compute(np.nan)
    for divisor in (np.ones(3), [1j] * 3, [Fraction(1)] * 3):
        with pytest.raises(ShapeError, match=r"^div: shapes .* broadcast together"):
            x / divisor
    if hasattr(np, "vecdot"):
        with pytest.raises(ShapeError, match=r"^vecdot: shapes \(3, 4\) and \(\), of 1 and 1 axes"):
            np.vecdot(x, 5.0)


def test_shapes_of_where_that_do_not_fit(client, server):
    x = server.load(client.encrypt(np.ones((3, 4))))
    v = server.load(client.encrypt(np.ones(3)))
    for condition, a, b in (
        (True, x, v),
        (x, x, v),
        (x, 1, np.ones(3)),
        (np.ones(5) > 0, x, x),
        (True, v, np.ones(4)),
    ):
        shapes = r"\(.*\), \(.*\) and \(.*\) do not broadcast together"
        with pytest.raises(ShapeError, match=f"^where: shapes {shapes}"):
            np.where(condition, a, b)


def test_more_axes_than_numpy_broadcasts(client, server):
    x = server.load(client.encrypt(np.ones((1,) * 40)))
    assert client.decrypt(x + x).shape == (1,) * 40
    for operation in (
        lambda: x + 1.0,
        lambda: x * np.ones((1,) * 40),
        lambda: np.broadcast_to(x, (1,) * 41),
    ):
        with suppress(hippocrene.ShapeError):  # numpy from version 2 on broadcasts 64.
            assert client.decrypt(operation()).size == 1


def test_missing_rotation_keys(client):
    server = hippocrene.Server(client.evaluation_keys(rotations=[]))
    encrypted = server.load(client.encrypt([1.0, 2.0, 3.0]))
    client.decrypt(encrypted * encrypted)
    with pytest.raises(
        MissingKeyError,
        match=r"^sum: the keys lack the rotation by 1 \(they have none\)\. Make the evaluation keys "
        r"that the whole program needs with client\.evaluation_keys\(for_=hippocrene\.simulate\(",
    ):
        encrypted.sum()


def test_mismatched_keys(client, server, stranger):
    theirs = stranger.encrypt([1.0])
    with pytest.raises(KeyMismatchError, match=stranger.fingerprint):
        client.decrypt(theirs)
    with pytest.raises(KeyMismatchError, match=stranger.fingerprint):
        server.load(theirs)
    with pytest.raises(KeyMismatchError):
        server.load(client.encrypt([1.0])) + theirs


def test_operands_are_checked_before_keys(client, server, stranger):
    """The keys lack the conjugation, which comparisons by polynomials need."""
    x = server.load(client.encrypt([0.5, 1.0]))
    theirs = hippocrene.Server(stranger.evaluation_keys(rotations=[])).load(
        stranger.encrypt([0.5, 1.0])
    )
    longer = server.load(client.encrypt([0.5, 1.0, 2.0]))
    calls = {
        "greater": lambda y: x > y,
        "less": lambda y: x <= y,
        "maximum": lambda y: np.maximum(x, y),
        "minimum": x.minimum,
        "clip": lambda y: np.clip(x, y, 1),
        "is_close": lambda y: x.is_close(y, tolerance=0.5),
    }
    for name, compute in calls.items():
        with pytest.raises(KeyMismatchError, match=f"^{name}"):
            compute(theirs)
        with pytest.raises(
            hippocrene.ShapeError, match=rf"^{name}: shapes \(2,\) and \(3,\) do not broadcast"
        ):
            compute(longer)
    # Before what lacks for the products.
    with pytest.raises(KeyMismatchError, match=r"^where"):
        np.where([True, False], x, theirs)


def test_what_is_missing_is_named_where_it_stands(client):
    for values, words in (
        (
            [[1, 2], [3, np.nan]],
            r"^encrypt: nan at row 1, column 1: .* replace missing values, .* encrypt a mask",
        ),
        ([1, -np.inf], r"^encrypt: -inf at position 1: only finite numbers can be encrypted$"),
        (np.nan, r"^encrypt: nan: only finite"),
    ):
        for encrypt in (client.encrypt, lambda x: hippocrene.simulate(lambda y: y, x)):
            with pytest.raises(EncodeError, match=words):
                encrypt(values)


def test_numbers_in_errors_are_short(client, server):
    x = server.load(client.encrypt([0.5, 1.0]))
    calls = [
        lambda: client.second_client(1e308),
        lambda: x.with_precision(1e308),
        lambda: server.at_precision(1e308).__enter__(),
        lambda: hippocrene.Client.generate("n13", precision=1e308),
        lambda: client.encrypt([1.0], precision=1e308),
        lambda: x.maximum(0.5, precision=1e300),
        lambda: x.maximum(0.5, gap=1e300),
        lambda: x.sign(precision=-1e300),
    ]
    for compute in calls:
        with pytest.raises((ArgumentError, ParameterError)) as caught:
            compute()
        assert len(str(caught.value)) < 200, str(caught.value)
        assert "1e30" in str(caught.value)


def test_what_no_modulus_holds_is_said(client, server):
    x = server.load(client.encrypt([0.5, 4.0]))
    for name, compute in (
        ("multiply by a number", lambda: x * 1e308),
        ("polynomial", lambda: x.polynomial([1e308] * 3)),
    ):
        words = rf"^{name} needs more bits of capacity than any modulus has, .* are left\. .*scale the values down"
        with pytest.raises(CapacityError, match=words):
            compute()


def test_exhausted_capacity(client, server):
    encrypted = server.load(client.encrypt([0.5, 1.0]))
    products = 0
    while encrypted.capacity_bits > 40:
        encrypted = encrypted * encrypted
        products += 1
    assert products >= 5
    left = re.escape(f"{encrypted.capacity_bits:.1f} are left")
    with pytest.raises(CapacityError, match=left):
        encrypted * encrypted
    np.testing.assert_allclose(client.decrypt(encrypted), [0.0, 1.0], atol=1e-4)


def test_errors_of_capacity_name_what_was_called():
    client = hippocrene.Client.generate("n12")
    server = hippocrene.Server(client.evaluation_keys())
    values = np.arange(12.0).reshape(3, 4) / 12
    # It has room for no product.
    x = server.load(client.encrypt(values))
    v, w = x[0], np.arange(8.0).reshape(4, 2) / 8
    named = {
        "multiply": lambda: x * x,
        "multiply by plain numbers": lambda: x * values,
        "divide by a number": lambda: x / 3,
        "indexing": lambda: x[:, [2, 0, 1]],
        "take": lambda: x.take([2, 0, 3], 1),
        "reshape": lambda: x.reshape(2, 6),
        "roll": lambda: x.roll((1, 1), (0, 1)),
        "numpy.flip": lambda: np.flip(x, 1),
        "prod": lambda: x.prod(),
        "where": lambda: np.where([True, False, True, False], x, 1),
        "matrix product": lambda: x @ w,
        "dot product": lambda: v @ v,
        "cumsum": lambda: x.cumsum(1),
        "mean": lambda: x.mean(),
        "convolve": lambda: np.convolve(v, [1, 2]),
        "correlate": lambda: np.correlate(v, [1, 2]),
        "polynomial": lambda: x.polynomial([1, 2, 3]),
    }
    for name, compute in named.items():
        with pytest.raises(CapacityError) as caught:
            compute()
        assert str(caught.value).startswith(f"{name} needs "), (name, str(caught.value))


def test_powers_say_what_all_of_their_products_take(client, server):
    x = server.load(client.encrypt([0.5, 1.0]))
    have, one = x.capacity_bits, x.capacity_bits - (x * x).capacity_bits
    with pytest.raises(CapacityError, match=rf"^power needs .* {have:.1f} are left") as caught:
        x**1000
    assert abs(float(str(caught.value).split()[2]) - 10 * one) < one


def test_errors_of_functions_name_what_was_called(server, client):
    """The keys lack tables, and comparisons lack capacity."""
    x = server.load(client.encrypt([0.5, 1.0]))
    named = {
        "exp": [lambda: x.exp(precise=True), lambda: x.exp(domain=(0, 1000))],
        "sqrt": [lambda: np.sqrt(x - 0.75)],
        "tanh": [lambda: x.tanh(precise=True), lambda: x.tanh(domain=(1, 2))],
        "apply": [lambda: x.apply(np.sin, look_ups=1), lambda: x.apply(lambda _: np.nan)],
        "is_close": [lambda: x.is_close(1, tolerance=0.5)],
        "interp": [lambda: np.interp(x, [0, 0.5, 1], [2, 3, 0])],
        "ptp": [lambda: np.ptp(x)],
        "percentile": [lambda: np.percentile(x, 3)],
        "greater": [lambda: x > 0.25, lambda: x >= x],
        "less": [lambda: x < 0.25, lambda: np.less(x, x)],
        "maximum": [lambda: x.maximum(0.25), lambda: np.maximum(x, x)],
        "minimum": [lambda: x.minimum(0.25), lambda: x.minimum(x)],
        "clip": [lambda: np.clip(x, 0.25, 1), lambda: x.clip(x, 1), lambda: x.clip(0.25)],
        "abs": [lambda: abs(x - 0.75)],
    }
    for name, calls in named.items():
        for compute in calls:
            with pytest.raises((ArgumentError, CapacityError, MissingKeyError)) as caught:
                compute()
            assert str(caught.value).startswith((f"{name}: ", f"{name} needs ")), (
                name,
                str(caught.value),
            )


def test_a_polynomial_too_deep_for_the_capacity(client, server):
    with pytest.raises(CapacityError):
        server.load(client.encrypt([0.5])).polynomial([0.0] * 5000 + [1.0])


@pytest.mark.parametrize("preset", ["n1", "", "N14", "n14 "])
def test_presets_that_do_not_exist(preset):
    with pytest.raises(ParameterError, match="n14"):
        hippocrene.Client.generate(preset)


def test_sharing_costs_precision_and_never_all_of_it(client):
    array = np.array([1.0, -2.0, 3.0])
    encrypted = client.encrypt(array)
    shared = client.decrypt_for_sharing(encrypted, bits=20)
    error = np.abs(shared - array).max()
    assert 2.0 ** -(encrypted.precision_bits - 17) < error < 2.0 ** -(encrypted.precision_bits - 24)
    for few in (0, 1, 5, 19):
        with pytest.raises(ArgumentError, match=f"{few} bits of noise do not hide .* Pass 20 bits"):
            client.decrypt_for_sharing(encrypted, bits=few)
    with pytest.raises(ArgumentError, match="precision"):
        client.decrypt_for_sharing(encrypted, bits=45)


def test_results_are_shared_with_what_precision_they_have_to_spare(client, server):
    array = np.array([1.0, -2.0, 3.0])
    encrypted = server.load(client.encrypt(array))
    error = np.abs(client.decrypt_for_sharing(encrypted) - array).max()
    assert 2.0**-16 < error < 2.0**-5
    zero = encrypted * 0
    assert np.isfinite(zero.precision_bits)
    assert np.abs(client.decrypt_for_sharing(zero)).max() < 2.0**-5
    spoilt = encrypted * 1000
    with pytest.raises(ArgumentError, match="Encrypt with a precision of 36 bits or more"):
        client.decrypt_for_sharing(spoilt)
    better = server.load(client.encrypt(array, precision=36)) * 1000
    assert np.abs(client.decrypt_for_sharing(better) - 1000 * array).max() < 2.0**-5


def test_computing_without_a_server(client):
    encrypted = client.encrypt([1.0, 2.0])
    for compute in (
        lambda: encrypted + 1,
        lambda: encrypted * encrypted,
        lambda: -encrypted,
        lambda: encrypted.sum(),
        lambda: encrypted @ np.ones(2),
        lambda: np.ones((2, 2)) @ encrypted,
        lambda: encrypted.roll(1),
        lambda: encrypted.polynomial([1.0, 1.0]),
    ):
        with pytest.raises(MissingServerError, match=r"server\.load"):
            compute()


def test_what_is_not_made_by_the_package_is_a_type_error(client, server, tmp_path):
    data = client.encrypt([1.0]).to_bytes()
    for misuse, word in (
        (lambda: hippocrene.Client("n14"), "generate"),
        (lambda: hippocrene.EncryptedArray(np.ones(2)), "encrypt"),
        (lambda: hippocrene.PublicKey(client), "public_key"),
        (lambda: hippocrene.EvaluationKeys(client), "evaluation_keys"),
        (lambda: hippocrene.Server(client), r"not Client\. Make them with client\.evaluation_keys"),
        (lambda: hippocrene.Server(tmp_path), r"EvaluationKeys\.load\(path\)"),
        (lambda: client.decrypt(np.ones(2)), "not ndarray. This value is not encrypted"),
        (lambda: client.decrypt(data), r"EncryptedArray\.from_bytes\(data\)"),
        (lambda: client.decrypt("x.enc"), r"EncryptedArray\.load\(path\)"),
        (lambda: client.decrypt([1]), "Decrypt each array on its own"),
        (lambda: client.decrypt_for_sharing(data), "EncryptedArray"),
        (lambda: server.load(123), "int"),
        (lambda: server.load(np.ones(2)), r"not ndarray\. .*client\.encrypt\(values\)"),
        (lambda: hippocrene.EncryptedArray.from_bytes(10**10), "int"),
        (lambda: hippocrene.Client.from_bytes("text"), r"not str\. .*use load\(path\)"),
        (lambda: hippocrene.simulate(abs, client.encrypt([1.0])), "takes plain arrays"),
        (lambda: hippocrene.EvaluationKeys.from_bytes([1, 2]), "list"),
    ):
        with pytest.raises(TypeError, match=word):
            misuse()


def test_methods_that_belong_to_another_object_are_named(client, server):
    x = server.load(client.encrypt([1.0]))
    for use, words in (
        (lambda: server.decrypt, r"no decrypt, because it has no secret key: use client\.decrypt"),
        (lambda: server.nothing, "'Server' object has no attribute 'nothing'"),
        (lambda: hippocrene.encrypt, r"use client\.encrypt\(values\)"),
        (lambda: hippocrene.load, r"use Client\.load, .* or server\.load"),
        (lambda: hippocrene.nothing, "no attribute 'nothing'$"),
        (lambda: x.iloc, r"index as in numpy: x\[:, 0\]"),
    ):
        with pytest.raises(AttributeError, match=words):
            use()


def test_complex_values_are_not_shared_by_half(client):
    with pytest.raises(ArgumentError, match="complex"):
        client.decrypt_for_sharing(client.encrypt([1 + 2j]), bits=5)


def test_absurd_numbers_of_threads():
    with pytest.raises(hippocrene.MachineError, match="1024"):
        hippocrene.Client.generate("n13", threads=100_000)
    with pytest.raises(hippocrene.MachineError, match="1024"):
        hippocrene.Client.generate("n13", threads=1025)


@pytest.mark.parametrize("threads", [0, -1, 2**64])
def test_numbers_of_threads_that_make_no_sense(client, keys, threads):
    for use in (
        lambda: hippocrene.Client.generate("n13", threads=threads),
        lambda: hippocrene.Client.from_bytes(client.to_bytes(), threads=threads),
        lambda: hippocrene.Client.load("client.key", threads=threads),
        lambda: hippocrene.PublicKey.from_bytes(client.public_key().to_bytes(), threads=threads),
        lambda: hippocrene.PublicKey.load("public.key", threads=threads),
        lambda: hippocrene.Server(keys, threads=threads),
    ):
        with pytest.raises(ArgumentError, match=f"threads is {threads}: 1 to 1024"):
            use()


def test_numbers_out_of_range_are_argument_errors(client, server, keys):
    x = server.load(client.encrypt([1.0, 2.0]))
    for use, words in (
        (lambda: hippocrene.Server(keys, key_memory=-1), "key_memory is -1: 0 to"),
        (lambda: hippocrene.Server(keys, key_memory=2**64), "key_memory is"),
        (lambda: hippocrene.Server(keys, cache_memory=-1), "cache_memory is -1: 0 to"),
        (lambda: client.decrypt_for_sharing(x, bits=-1), "bits of noise for sharing is -1: 0 to"),
        (lambda: client.decrypt_for_sharing(x, bits=2**32), "bits of noise"),
        (lambda: client.evaluation_keys(rotations=[2**63]), "a rotation is"),
        (
            lambda: client.evaluation_keys(bootstrapping=hippocrene.Bootstrapping(slots=-1)),
            "slots of a bootstrap is",
        ),
        (lambda: x.apply(abs, look_ups=-1), "look_ups is -1: 1 to 4"),
        (lambda: x.top_k(2**64), "top_k: "),
        (lambda: x ** (2**32), "1, 2, 3, .* not 4294967296"),
        (lambda: EncryptedKMeans(0), "n_clusters is 0"),
        (lambda: EncryptedKMeans(-3), "n_clusters is -3"),
    ):
        with pytest.raises(ArgumentError, match=words):
            use()


def test_what_is_no_integer_is_named(client, server, keys):
    x = server.load(client.encrypt([[1.0, 2.0]]))
    for use, words in (
        (lambda: x.sum(axis=1.0), "sum: an axis is an integer, not float"),
        (lambda: x.mean(axis=1.0), "mean: an axis is an integer, not float"),
        (lambda: x.std(axis=1.0), "std: an axis is an integer, not float"),
        (lambda: np.gradient(x, axis=(0, 1.5)), "an axis is an integer, not float"),
        (
            lambda: client.decrypt_for_sharing(x, bits="20"),
            "bits of noise for sharing is an integer, not str",
        ),
        (lambda: client.evaluation_keys(rotations=[1.5]), "a rotation is an integer, not float"),
        (
            lambda: client.evaluation_keys(rotations=3),
            "integers in a list, or None for all, not int",
        ),
        (lambda: hippocrene.Server(keys, threads=2.0), "threads is an integer, not float"),
        (
            lambda: hippocrene.Client.generate(scheme="bgv", plain_modulus="65537"),
            "plain_modulus is an integer",
        ),
        (lambda: x.top_k("a"), "top_k: k is an integer, not str"),
        (lambda: x.max_pool(2.0), "max_pool: a size is an integer, not float"),
    ):
        with pytest.raises(TypeError, match=words):
            use()


def test_what_is_no_number_is_named(client, server):
    x = server.load(client.encrypt([[1.0, 2.0]]))
    for use, words in (
        (lambda: client.encrypt([0.5], bound="1"), "a bound is a number, not str"),
        (lambda: client.encrypt([0.5], precision=2j), "a precision is a number, not complex"),
        (lambda: x.with_bound([1, 2]), "a bound is a number, not list"),
        (lambda: x.sign(gap="wide"), "a gap is a number, not str"),
        (lambda: x.greater(x, precision="a"), "a precision is a number, not str"),
        (lambda: x.is_close(1, tolerance="a"), "a tolerance is a number, not str"),
        (lambda: x.apply(np.sin, domain=("a", 1)), "an end of a domain is a number, not str"),
        (lambda: x.var(ddof="a"), "ddof is a number, not str"),
        (
            lambda: hippocrene.approximate(np.sin, domain=(0, 2), error="x"),
            "an error is a number, not str",
        ),
        (
            lambda: hippocrene.Client.generate("n13", precision="high"),
            "a precision is a number, not str",
        ),
        (lambda: server.at_precision("a").__enter__(), "a precision is a number, not str"),
        (lambda: x.with_precision(None), "a precision is a number, not NoneType"),
        (lambda: x.with_bound(np.array("3")), "a bound is a number, not ndarray"),
        (lambda: x.with_bound(np.ma.masked), "a bound is a number, not MaskedConstant"),
        (lambda: x.with_bound(np.void(b"3")), "a bound is a number, not void"),
        (lambda: x.with_bound(np.complex128(3)), "a bound is a number, not complex128"),
        (lambda: server.bootstrap(x, capacity="a"), "a capacity is a number, not str"),
        (lambda: client.second_client("a"), "a capacity is a number, not str"),
    ):
        with pytest.raises(TypeError, match=words):
            use()


def test_what_is_no_text_or_no_sequence_is_named(server):
    for use, words in (
        (lambda: hippocrene.Client.generate(None), "a preset is text, not NoneType"),
        (lambda: hippocrene.Client.generate("n13", scheme=None), "a scheme is text, not NoneType"),
        (lambda: hippocrene.simulate(abs, 1.0, preset=14), "a preset is text, not int"),
        (lambda: server.with_scheme(None), "a scheme is text, not NoneType"),
        (lambda: server.gates([None]), "the name of a gate is text, not NoneType"),
        (lambda: server.gates(None), "gates takes names of gates, not NoneType"),
        (
            lambda: server.sum_of_products(None),
            "sum_of_products takes pairs of EncryptedArrays, not NoneType",
        ),
    ):
        with pytest.raises(TypeError, match=words):
            use()


def test_values_that_are_no_array_are_shape_errors(client, server):
    rows = [[1.0, 2.0], [3.0]]
    x = server.load(client.encrypt([1.0, 2.0]))
    for use in (
        lambda: client.encrypt(rows),
        lambda: x + rows,
        lambda: x.reshape(3),
        lambda: x[:: 2 - 2],
        lambda: np.split(x, 3),
        lambda: np.concatenate([x, x.reshape(1, 2)]),
        lambda: hippocrene.simulate(lambda x: x, rows),
        lambda: hippocrene.Client.generate("n13", scheme="bgv").encrypt([[1, 2], [3]]),
    ):
        with pytest.raises(ShapeError):
            use()
    with pytest.raises(EncodeError, match=r"2\*\*1024"):
        x + 10**400
    with pytest.raises(OverflowError, match=r"^a bound is too large for a double"):
        x.with_bound(10**400)
    with pytest.raises(ArgumentError, match="a bound of nan: a finite number from 0 is needed"):
        x.with_bound(Decimal("sNaN"))


def test_arrays_of_other_parameters_are_refused_before_they_are_used():
    small, large = (hippocrene.Client.generate(preset) for preset in ("n13", "n14"))
    matrix = np.arange(6.0).reshape(2, 3)
    x = hippocrene.Server(small.evaluation_keys(rotations=[])).load(small.encrypt(matrix))
    foreign = large.encrypt(matrix.T)
    for name, compute in (
        ("decrypt for sharing", lambda: small.decrypt_for_sharing(foreign)),
        ("decrypt for sharing", lambda: small.decrypt_for_sharing(foreign, bits=10)),
        ("dot product", lambda: foreign @ x),
        ("dot product", lambda: x @ foreign),
    ):
        with pytest.raises(hippocrene.ParameterMismatchError, match=f"^{name}"):
            compute()
    wide = hippocrene.Client.generate("n17").encrypt(matrix)
    for compare in (lambda a: np.maximum(a, wide), lambda a: a > wide):
        with pytest.raises(hippocrene.ParameterMismatchError):
            hippocrene.simulate(compare, matrix, preset="n15", tables=True)


def test_shapes_are_written_as_in_numpy_and_the_axes_are_named(client, server):
    x = server.load(client.encrypt(np.ones((4, 3))))
    v = server.load(client.encrypt(np.ones(4)))
    fit = r"shapes \(4, 3\) and \(4, {}\) do not fit: .* has 3 elements, and .* second 4\."
    broadcast = (
        r"shapes \(4, 3\) and \(4,\) do not broadcast together: axis -1 has 3 and 4 elements\."
    )
    joined = (
        r"the arrays have the shapes \(4, 3\) and \(4,\)\. They need equally many axes, and equal"
    )
    for compute, words in (
        (lambda: x @ x, fit.format(3)),
        (lambda: x @ np.ones((4, 2)), fit.format(2)),
        (lambda: np.ones((4, 3)) @ x, fit.format(3)),
        (lambda: x + v, f"^add: {broadcast}"),
        (lambda: x * np.ones(4), f"^mul: {broadcast}"),
        (
            lambda: np.where([True, False, True, True], x, 0),
            "^where: .* axis -1 has 4 and 3 elements",
        ),
        (lambda: np.concatenate([x, v]), f"^numpy.concatenate: {joined}"),
        (lambda: np.hstack([x, np.ones(4)]), f"^numpy.hstack: {joined}"),
        (lambda: np.stack([x, v]), r"shapes \(4, 3\) and \(4,\)\. They have to be equal\."),
        (lambda: np.inner(x, v), "have 3 and 4 elements"),
        (lambda: client.encrypt([]), r"shape \(0,\)"),
    ):
        with pytest.raises(ShapeError, match=words):
            compute()


def test_what_lacks_in_keys_is_asked_for_in_terms_of_python(client):
    server = hippocrene.Server(client.evaluation_keys(rotations=[]))
    x = server.load(client.encrypt([1.0, 2.0, 3.0]))
    z = server.load(client.encrypt([1j, 2.0]))
    only_sums = client.evaluation_keys(for_=hippocrene.simulate(lambda x: x + 1, [1.0]))
    y = hippocrene.Server(only_sums).load(client.encrypt([1.0, 2.0]))
    program = r"client\.evaluation_keys\(for_=hippocrene\.simulate\(program, \.\.\.\)\)"
    tables = (
        r"Pass tables=True to client\.evaluation_keys, or to simulate .*hippocrene\.approximate"
    )
    for compute, words in (
        (lambda: x.mean(), f"^mean: the keys lack the rotation by 1 .*{program}"),
        (lambda: x[1:].compute(), f"^indexing: the keys lack the rotation by 1 .*{program}"),
        (lambda: x.reshape(3, 1).cumsum(), f"^cumsum: the keys lack the rotation .*{program}"),
        (lambda: z.real, f"^real part: the keys lack the conjugation.*{program}"),
        (lambda: y**2, f"^power: the keys lack the relinearisation key.*{program}"),
        (lambda: server.bootstrap(x), r"bootstrapping=True to client\.evaluation_keys"),
        (lambda: x.apply(np.exp, look_ups=1), f"^apply: .*{tables}"),
        (
            lambda: x.sort(),
            r"^sort: .*bootstrapping=True to client\.evaluation_keys.* or tables=True",
        ),
        (lambda: x.rank(), r"^rank: .*\. Pass bootstrapping=True to client\.evaluation_keys"),
    ):
        with pytest.raises(MissingKeyError, match=words) as caught:
            compute()
        assert "::" not in str(caught.value)
    with pytest.raises(
        CapacityError, match=r"pass bootstrapping=True to client\.evaluation_keys"
    ) as few:
        x**10000
    assert "::" not in str(few.value)


def test_whose_arrays_and_keys_they_are_is_said(client, server, stranger):
    small = hippocrene.Client.generate("n12")
    for compute in (
        lambda: small.decrypt(client.encrypt([1.0])),
        lambda: (
            hippocrene.Server(small.evaluation_keys()).load(small.encrypt([1.0]))
            + client.encrypt([1.0])
        ),
    ):
        with pytest.raises(
            hippocrene.ParameterMismatchError,
            match=r"made with the preset n14, but the preset n12 is needed\. Use arrays and keys of one",
        ):
            compute()
    with pytest.raises(
        KeyMismatchError,
        match=r"\(preset 'n12'\), but .* \(preset 'n14'\)\. Load arrays of the client",
    ):
        server.load(small.encrypt([1.0]))
    with pytest.raises(
        KeyMismatchError, match=r"of one client: those with the same fingerprint\.$"
    ):
        client.decrypt(stranger.encrypt([1.0]))
    second = client.second_client(60)
    with pytest.raises(KeyMismatchError, match="Pass evaluation keys of the second client"):
        hippocrene.Server(client.evaluation_keys(), transfer=client.transfer_key(second))


def test_what_other_libraries_and_lists_need_is_told(client, server):
    x = server.load(client.encrypt([1.0, 2.0]))
    for name, words in {
        "bootstrap": r"use server\.bootstrap\(x\)",
        "decrypt": r"use client\.decrypt\(x\)",
        "rotate": r"use x\.roll\(shift\)",
        "cos": r"use the function numpy\.cos",
        "unique": "use Client.decrypt first",
    }.items():
        assert not hasattr(x, name)
        with pytest.raises(AttributeError, match=f"^encrypted arrays have no {name}: .*{words}"):
            getattr(x, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = x.nothing
    for operate, name in ((operator.mod, "%"), (operator.floordiv, "//")):
        with pytest.raises(TypeError, match=rf"have no {name}: use x\.apply\(lambda v: v {name} m"):
            operate(x, 2)
    for convert in (
        np.asarray,
        np.array,
        lambda x: np.array(x, dtype=float),
        np.eye(2).__getitem__,
    ):
        with pytest.raises(
            TypeError,
            match=r"cannot become a plain one: .*entries_of\(table\) instead of table\[x\]",
        ):
            convert(x)
    with pytest.raises(
        TypeError, match=r"Instead of model\.predict\(x\), compute x @ model\.coef_"
    ):
        sklearn.linear_model.LinearRegression().fit(np.eye(2), [0, 1]).predict(x)
    with pytest.raises(TypeError, match=r"decrypt first.*numpy\.dot\(a, x\)"):
        pandas.DataFrame(x)
    with pytest.raises(TypeError, match="encrypted already"):
        client.encrypt(x)


def test_values_that_are_no_numbers_have_advice(client, tmp_path):
    for values, words in (
        ("file.csv", r'^encrypt: "file\.csv" is not a decimal number .* numpy\.loadtxt'),
        (tmp_path / "file.csv", r"^encrypt takes numbers, .*\. Read a file first"),
        (["1,5", "2"], r"^encrypt: .*\(position 0\)\. Write a decimal point instead of the comma"),
        ({"a": 1.0}, r"list\(mapping\.values\(\)\)"),
        ({1.0, 2.0}, r"Pass a list: list\(values\)"),
        (
            [[1.0, 2.0], [3.0]],
            r"^encrypt: the values form no array, since rows differ in length \(row 0 has the "
            r"length 2, and row 1 has the length 1\)",
        ),
        (pandas.DataFrame({"age": [1], "city": ["Ulm"]}), r"row 0, column 1 \('city'\)"),
        (pandas.DataFrame({"age": [1, None]}), r"row 1, column 0 \('age'\)"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            client.encrypt(values)
