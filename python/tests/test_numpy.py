"""numpy's functions that meet encrypted arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hippocrene
from hippocrene import NumberArray, ShapeError

few = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
values = st.floats(-2, 2, width=32)
V = np.array([0.5, -1.25, 2.0])
M = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75], [1.0, 1.25, 0.5], [-0.5, 0.75, 1.0]])
T = np.arange(24.0).reshape(2, 3, 4) / 16 - 0.5


# Universal functions

ARITHMETIC = [np.add, np.subtract, np.multiply]


@pytest.mark.parametrize("function", ARITHMETIC)
@few
@given(data=st.data())
def test_universal_functions_have_their_operands_in_order(secret, near, function, data):
    left, right = (data.draw(hnp.arrays(np.float64, (2, 3), elements=values)) for _ in range(2))
    want = function(left, right)
    near(function(secret(left), right), want)
    near(function(left, secret(right)), want)
    near(function(left.tolist(), secret(right)), want)
    near(function(secret(left), secret(right)), want)
    near(function(left[0], secret(right)), function(left[0], right))


@pytest.mark.parametrize(
    "compute",
    [
        lambda v, _: np.divide(v, 4),
        lambda v, m: np.true_divide(v, np.abs(m) + 1),
        lambda v, m: np.matmul(m, v),
        lambda v, _: np.negative(v),
        lambda v, _: np.positive(v),
        lambda v, _: np.square(v),
        lambda v, _: np.power(v, 3),
        lambda v, _: np.float64(3) * v - np.float32(2),
        lambda v, _: np.add.reduce(v),
        lambda v, _: np.multiply.reduce(v),
        lambda v, _: np.add.accumulate(v),
    ],
)
def test_universal_functions_are_operators(secret, near, compute):
    near(compute(secret(V), M), compute(V, M))


def test_numbers_are_vectors_of_one_element(secret, near):
    near(np.convolve(secret(V), 2.0), np.convolve(V, 2.0))
    near(np.convolve(secret(0.5), V), np.convolve(0.5, V))


def test_reductions_are_along_the_first_axis(secret, near):
    near(np.add.reduce(secret(M)), np.add.reduce(M))
    near(np.add.reduce(secret(M), axis=None), np.add.reduce(M, axis=None))
    near(np.add.reduce(secret(M), axis=-1, keepdims=True), np.add.reduce(M, axis=-1, keepdims=True))
    near(np.multiply.reduce(secret(M), axis=(0, 1)), np.multiply.reduce(M, axis=(0, 1)))
    near(np.add.accumulate(secret(M), axis=1), np.add.accumulate(M, axis=1))


def test_conjugates(client):
    server = hippocrene.Server(client.evaluation_keys(conjugation=True))
    plain, other = np.array([1 + 2j, -0.5j]), np.array([0.5 - 1j, 2.0])
    x = server.load(client.encrypt(plain))
    for got, want in (
        (np.conj(x), plain.conj()),
        (x.conjugate(), plain.conj()),
        (np.vdot(x, other), np.vdot(plain, other)),
        (np.vdot(other, x), np.vdot(other, plain)),
        (np.var(x), np.var(plain)),
        (x.var(0, ddof=1, keepdims=True), plain.var(0, ddof=1, keepdims=True)),
        (np.cov(x), np.cov(plain)),
        (np.cov(np.stack([x, x * 1j])), np.cov(np.stack([plain, plain * 1j]))),
        (np.correlate(V, x), np.correlate(V, plain)),
        (np.real(x), plain.real),
        (x.imag, plain.imag),
        (np.convolve(x, V), np.convolve(plain, V)),
        (np.concatenate([x, V]), np.concatenate([plain, V])),
    ):
        np.testing.assert_allclose(client.decrypt(got), want, atol=1e-4)
        assert np.iscomplexobj(client.decrypt(got)) == np.iscomplexobj(want)


C = np.array([[1, 2j, -0.5], [0.5j, 1 - 1j, 2]])


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: C @ x,
        lambda x: x @ C.T,
        lambda x: np.dot(x, C[0]),
        lambda x: np.dot(C[1], x),
        lambda x: np.matmul(C, x[:, None]),
        lambda x: x[:, None] @ C[:1],
        lambda x: np.convolve(x, [1, 1j]),
        lambda x: np.convolve(C[1], x, "same"),
        lambda x: np.correlate(x, C[0], "full"),
        lambda x: np.correlate(C[0], x),
        lambda x: np.inner(C, x),
        lambda x: np.tensordot(x, C, ([0], [1])),
    ],
)
def test_complex_matrices(client, secret, compute):
    x = secret(V)
    got = compute(x)
    np.testing.assert_allclose(client.decrypt(got), compute(V), atol=2e-4)
    # As deep as by a real one.
    assert got.capacity_bits > x.capacity_bits - 1.5 * (x.capacity_bits - (x * V).capacity_bits)


def test_comparisons_are_the_methods(monkeypatch, secret):
    x, y = secret([1.0]), np.array([2.0])
    called = []
    for name in (
        "greater",
        "less",
        "maximum",
        "minimum",
        "sign",
        "abs",
        "sort",
        "max",
        "min",
        "median",
        "argmax",
    ):
        monkeypatch.setattr(
            NumberArray,
            name,
            lambda *args, name=name, **_: called.append((name, *args[1:])) or x,
        )
    for compute, name in (
        (lambda: x >= 1, "greater"),
        (lambda: x <= 1, "less"),
        (lambda: np.greater(x, 1), "greater"),
        (lambda: np.greater_equal(x, 1), "greater"),
        (lambda: y > x, "less"),
        (lambda: y <= x, "greater"),
        (lambda: np.less(y, x), "greater"),
        (lambda: np.maximum(y, x), "maximum"),
        (lambda: np.minimum(x, y), "minimum"),
        (lambda: np.sign(x), "sign"),
        (lambda: np.abs(x), "abs"),
        (lambda: np.absolute(x), "abs"),
        (lambda: np.sort(x), "sort"),
        (lambda: np.max(x), "max"),
        (lambda: np.amin(x, axis=0), "min"),
        (lambda: np.minimum.reduce(x), "min"),
        (lambda: np.median(x), "median"),
        (lambda: np.argmax(x), "argmax"),
    ):
        called.clear()
        assert compute() is x
        assert [call[0] for call in called] == [name]


def test_sums_into_plain_arrays_say_what_to_write(secret, near):
    x, total = secret(V), np.zeros(3)
    with pytest.raises(TypeError, match=r"write|total = total \+ x"):
        total += x
    with pytest.raises(TypeError, match="cannot write into an array"):
        np.add(x, 1, out=total)
    near(total + x, V)
    near(sum([x, x]), 2 * V)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(x, axis=0, dtype=None, out=None, where=True),
        lambda x: np.mean(x, 0, None, None),
        lambda x: x.mean(axis=1, dtype=None, out=None),
        lambda x: x.sum(0, None, None, keepdims=True),
        lambda x: x.var(0, None, None, ddof=1),
        lambda x: np.cumsum(x, 1, None, None),
        lambda x: x.trace(out=None),
        lambda x: x.take([1], axis=1, out=None),
        lambda x: np.dot(x, V, out=None),
        lambda x: x.dot(V, out=None),
        lambda x: np.concatenate([x, x], axis=1, out=None),
        lambda x: np.add.reduce(x, axis=0, dtype=None, out=None),
        lambda x: np.add(x, x, out=(None,), where=True),
    ],
)
def test_options_that_say_nothing_are_taken(secret, near, function):
    near(function(secret(M)), function(M))


def test_options_that_say_something_are_refused_by_methods_too(secret):
    x, total = secret(M), np.zeros(())
    for name in (
        "sum",
        "mean",
        "var",
        "std",
        "prod",
        "cumsum",
        "trace",
        "max",
        "min",
        "argmax",
        "argmin",
        "clip",
    ):
        with pytest.raises(
            TypeError,
            match=rf"numpy\.{name} takes no out= for encrypted arrays: encrypted arrays never change",
        ):
            getattr(x, name)(out=total)
    with pytest.raises(TypeError, match=r"numpy\.mean takes no dtype="):
        x.mean(dtype=np.float32)


def test_options_of_universal_functions_that_there_are_not_are_named(secret):
    with pytest.raises(TypeError, match=r"numpy\.add takes no casting= for encrypted arrays"):
        np.add(secret(M), 1, casting="same_kind")
    with pytest.raises(TypeError, match=r"numpy\.multiply takes no order= for encrypted arrays"):
        np.multiply(secret(M), secret(M), order="F")


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_products_with_matrix_objects_are_told_apart(secret, near):
    square = np.arange(9.0).reshape(3, 3) / 9
    x, matrix = secret(square), np.matrix(square.T)
    near(x @ matrix, square @ square.T)
    near(matrix + x, square.T + square)
    for product in (lambda: x * matrix, lambda: matrix * x):
        with pytest.raises(TypeError, match=r"numpy\.matrix is a product of matrices: use @"):
            product()


# Functions and methods

SAME = [
    lambda x: x.var(),
    lambda x: np.var(x, axis=0, ddof=1),
    lambda x: x.var((0, 1), keepdims=True),
    lambda x: x.cumsum(),
    lambda x: np.cumsum(x, axis=-1),
    lambda x: x.cumsum(axis=0),
    lambda x: x[0].cumsum(axis=0),
    lambda x: np.diff(x),
    lambda x: np.diff(x, 2, axis=1),
    lambda x: np.diff(x, axis=0),
    lambda x: np.diff(x, prepend=0.5),
    lambda x: np.diff(x, 2, axis=1, prepend=x[:, :1], append=T[:, :2]),
    lambda x: np.diff(x, axis=0, append=x[0, 0, 0]),
    lambda x: np.diff(x, 0, append=1),
    lambda x: np.inner(x[0], V[:1] * np.ones(4)),
    lambda x: np.inner(x[0], x[1, :2]),
    lambda x: np.inner(2.0, x),
    lambda x: np.vdot(x, x),
    lambda x: np.outer(x[0, 0], V),
    lambda x: np.outer(V, x[0, :2]),
    lambda x: np.tensordot(x, x, 3),
    lambda x: np.tensordot(x, M, axes=([2, 1], [0, 1])),
    lambda x: np.tensordot(M, x, axes=([1], [1])),
    lambda x: np.trace(x),
    lambda x: x.trace(1, 1, 2),
    lambda x: np.polyval([1.0, -2.0, 0.5], x),
    lambda x: np.poly1d([1.0, -2.0, 0.5])(x),
    lambda x: np.where(T > 0, x, 1),
    lambda x: np.where(V[:, None] > 0, x * 2, x),
    lambda x: np.where([True, False, True, False], T, x),
    lambda x: np.broadcast_to(x[0], (2, 3, 4)),
    lambda x: np.broadcast_to(x[0, 0, 0], 3),
    lambda x: np.atleast_1d(x[0, 0, 0]),
    lambda x: np.atleast_2d(x[0, 0]),
    lambda x: np.atleast_3d(x[0]),
    lambda x: np.delete(x, 1, axis=2),
    lambda x: np.delete(x, [0, 3]),
    lambda x: np.pad(x, 1),
    lambda x: np.pad(x[0], ((0, 1), (2, 0)), constant_values=1.5),
    lambda x: np.pad(x[0], 1, mode="reflect"),
    lambda x: np.pad(x[0, 0], (1, 2), "edge"),
    lambda x: np.tril(x[0]),
    lambda x: np.triu(x, 1),
    lambda x: np.triu(x[0, 0]),
    lambda x: np.cov(x[0]),
    lambda x: np.cov(x[0], rowvar=False, bias=True),
    lambda x: np.cov(x[0, 0]),
    lambda x: np.cov(x[0], x[1]),
    lambda x: np.cov(x[0], T[1], rowvar=False),
    lambda x: np.cov(T[0, 0], x[0, 1]),
    lambda x: np.cov(x[0], aweights=[0.5, 1, 2, 0]),
    lambda x: np.cov(x[0], rowvar=False, fweights=[3, 1, 2], ddof=0),
    lambda x: np.cov(x[0, 0], aweights=[0.5, 1, 2, 0], fweights=[1, 2, 1, 3]),
    lambda x: np.average(x),
    lambda x: np.average(x, axis=1, weights=[1, 2, 0.5]),
    lambda x: np.average(x, axis=0, weights=[1, 2]),
    lambda x: np.average(x, axis=2, weights=[1, 2, 0.5, 3], keepdims=True),
    lambda x: np.average(x, axis=2, weights=T + 1),
    lambda x: np.average(x[0], axis=0, weights=[1, 2, 0.5], keepdims=True),
    lambda x: np.average(x[0], axis=0, weights=T[0] + 1),
    lambda x: np.average(x[0, 0], weights=[1, 2, 0.5, 3]),
    lambda x: np.average(x[0, 0, 0], weights=3.0),
    lambda x: x.mean(axis=2, where=[True, False, True, True]),
    lambda x: np.average(x, weights=T + 1),
    lambda x: np.average(x, axis=(0, 2), weights=T + 1),
    lambda x: np.convolve(x[0, 0], V),
    lambda x: np.convolve(V, x[0, 0], "same"),
    lambda x: np.correlate(x[0, 0], V),
    lambda x: np.correlate(V, x[0, 0], "full"),
    lambda x: np.roll(x, (1, 2), axis=(0, 2)),
    lambda x: np.roll(x, 1, axis=(0, 1)),
    lambda x: np.roll(x, (1, -3), (1, 1)),
    lambda x: np.roll(x, (3, 7)),
    lambda x: np.roll(x, [2, 0], (1, 0)),
    lambda x: np.roll(x, (3, -3), -1),
    lambda x: np.real(x),
    lambda x: np.imag(x),
    lambda x: x.real,
    lambda x: x.imag,
    lambda x: np.copy(x),
    lambda x: x.copy(),
    lambda x: x.flatten(),
    lambda x: x.transpose(),
    lambda x: x.transpose(1, 0, 2),
    lambda x: x.transpose((2, 0, 1)),
    lambda x: x[:, :1].squeeze(),
    lambda x: x[:, :1].squeeze(axis=1),
    lambda x: x.swapaxes(0, 2),
    lambda x: x.take([[1, 0]], axis=1),
    lambda x: x.take([5, -1]),
    lambda x: x.repeat(2, axis=2),
    lambda x: x[0, 0].repeat([1, 0, 2, 1]),
    lambda x: x.diagonal(1, 1, 2),
    lambda x: np.insert(x[0], 1, 7.0, axis=0),
    lambda x: np.insert(x[0, 0], [0, 2], [7.0, 8.0]),
    lambda x: np.insert(x[0, 0], 1, [7.0, 8.0, 9.0]),
    lambda x: np.insert(x[0], 1, np.ones((2, 4)), axis=0),
    lambda x: np.append(x, T),
    lambda x: np.append(x, T, axis=1),
    lambda x: np.append(x[0, 0], 1),
    lambda x: np.concatenate([x[0], V[:1, None] * np.ones((1, 4)), x[1]]),
    lambda x: np.stack([T, x], axis=1),
    lambda x: np.hstack([np.ones((3, 1)), x[0], x[1], np.zeros((3, 2))]),
    lambda x: np.vstack([x[0, 0], T[0, 1]]),
    lambda x: np.column_stack([np.ones(4), x[0, 0], x[1, 2]]),
    lambda x: np.concatenate([T[0], x[0]], axis=None),
    lambda x: np.concatenate([x[0, 0], range(3)]),
]


@pytest.mark.parametrize("compute", SAME)
def test_functions_and_methods_are_numpys(secret, near, compute):
    near(compute(secret(T)), compute(T))


def test_gradients_along_several_axes(secret, near):
    for arguments in ((), (0.5,), (2.0, [0, 1, 3], 1)):
        got, want = np.gradient(secret(T), *arguments), np.gradient(T, *arguments)
        assert type(got) is type(want)
        for one, other in zip(got, want, strict=True):
            near(one, other)
    got, want = np.gradient(secret(T), 2, 3, axis=(2, 0)), np.gradient(T, 2, 3, axis=(2, 0))
    for one, other in zip(got, want, strict=True):
        near(one, other)
    near(np.gradient(secret(T), axis=(1,)), np.gradient(T, axis=(1,)))


def test_sums_of_weights_beside_averages(secret, near):
    for arguments in (
        {},
        {"axis": 1},
        {"axis": (0, 2), "weights": T + 1},
        {"axis": 1, "weights": [1, 2, 3]},
    ):
        for keepdims in (False, True):
            got, total = np.average(secret(T), returned=True, keepdims=keepdims, **arguments)
            want = np.average(T, returned=True, keepdims=keepdims, **arguments)
            near(got, want[0])
            np.testing.assert_array_equal(total, want[1])
            assert total.shape == got.shape


@pytest.mark.filterwarnings("ignore:`row_stack`:DeprecationWarning")
def test_the_old_name_of_vstack(secret, near):
    row_stack = getattr(np, "row_stack", np.vstack)
    near(row_stack([secret(T[0]), T[1, 0]]), np.vstack([T[0], T[1, 0]]))
    with pytest.raises(TypeError, match=r"numpy\.vstack takes no"):
        np.vstack([secret(T[0]), T[1, 0]], casting="unsafe")


def test_the_last_two_axes_are_exchanged(secret, near):
    near(secret(T).mT, T.swapaxes(-1, -2))
    with pytest.raises(ShapeError, match="two axes"):
        secret(V).mT  # noqa: B018


@few
@given(
    data=st.data(),
    array=hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, max_side=5), elements=values),
)
def test_functions_along_axes(secret, near, data, array):
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    x = secret(array)
    near(x.cumsum(axis), array.cumsum(axis))
    near(np.prod(x, axis=axis), np.prod(array, axis=axis))
    near(x.prod(axis, keepdims=True), array.prod(axis, keepdims=True))
    near(np.var(x, axis=axis), np.var(array, axis=axis))
    if array.shape[axis] > 1:
        near(np.diff(x, axis=axis), np.diff(array, axis=axis))
        near(x.var(axis, ddof=1), array.var(axis, ddof=1))


@few
@given(
    data=st.data(),
    count=st.integers(2, 4),
    join=st.sampled_from([np.concatenate, np.hstack, np.vstack, np.column_stack]),
)
def test_encrypted_and_plain_arrays_are_joined(secret, near, data, count, join):
    shape = data.draw(hnp.array_shapes(max_dims=2 if join is np.column_stack else 3, max_side=4))
    arrays = [data.draw(hnp.arrays(np.float64, shape, elements=values)) for _ in range(count)]
    hidden = {data.draw(st.integers(0, count - 1)), data.draw(st.integers(0, count - 1))}
    joined = join([secret(a) if i in hidden else a for i, a in enumerate(arrays)])
    near(joined, join(arrays))


def test_one_server_is_enough_to_join_arrays(client, secret, near):
    without = client.encrypt(M)
    near(np.concatenate([without, secret(M), M]), np.concatenate([M, M, M]))
    with pytest.raises(hippocrene.MissingServerError, match="moving elements"):
        np.concatenate([without, M])


def test_integers_are_exact():
    client = hippocrene.Client.generate("n14", scheme="bgv")
    server = hippocrene.Server(client.evaluation_keys())
    array = np.arange(12).reshape(3, 4) + 1
    x = server.load(client.encrypt(array))
    for compute in (
        lambda x: x.cumsum(),
        lambda x: x.cumsum(0),
        lambda x: np.diff(x, axis=1),
        lambda x: x[:, :3].prod(axis=1),
        lambda x: np.outer(x[0], [1, 2]),
        lambda x: np.tensordot(x, array, ([0, 1], [0, 1])),
        lambda x: np.where(array > 3, x, 7),
        lambda x: np.roll(x, (1, 1), (0, 1)),
        lambda x: x.real + x.imag,
        lambda x: np.hstack([np.ones((3, 1), dtype=np.int64), x]),
        lambda x: np.append(x[0], [9]),
        lambda x: np.pad(x, 1, constant_values=3),
        lambda x: np.triu(x),
        lambda x: np.convolve(x[0], [1, 2]),
        lambda x: np.trace(x),
        lambda x: np.square(x),
        lambda x: np.power(x, 0),
        lambda x: np.add(array, x),
        lambda x: np.subtract(3, x),
    ):
        np.testing.assert_array_equal(client.decrypt(compute(x)), compute(array) % 65537)
    for compute in (np.var, np.cov, np.std):
        with pytest.raises(TypeError, match="no variance"):
            compute(x)
    with pytest.raises(TypeError, match="no mean"):
        np.average(x, weights=[1, 2, 3], axis=0)
    for name, compute in (("fft", np.fft.fft), ("gradient", lambda x: np.gradient(x, axis=1))):
        with pytest.raises(TypeError, match=f"{name} is for encrypted numbers"):
            compute(x)
    with pytest.raises(TypeError, match="takes integers"):
        np.hstack([np.full((3, 1), 0.5), x])


def test_a_condition_of_zeros_and_ones_picks(secret, near):
    condition = np.array([1.0, 0.0, 1.0])
    c, x, y = secret(condition), secret(V), secret(V + 0.5)
    near(np.where(c, x, y), np.where(condition, V, V + 0.5))
    near(np.where(c, x, 2), np.where(condition, V, 2))
    near(np.where(c, [1, 2, 3], y), np.where(condition, [1, 2, 3], V + 0.5))
    near(
        np.where(c, np.uint8(1), np.array([[2], [3]], dtype=np.uint8)),
        np.where(condition, 1, [[2], [3]]),
    )
    # One product, however many arrays.
    assert np.where(c, x, y).capacity_bits > c.capacity_bits - 1.5 * (
        c.capacity_bits - (c * x).capacity_bits
    )


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_vectors_of_any_lengths_are_convolved_and_correlated(client, secret, function, mode):
    short, long = np.array([0.5, -1.0]), np.array([1.0, 0.25, -0.5, 2.0, 0.75])
    for a, v in (
        (short, long),
        (long, short),
        (long[:4], long),
        (long, long[:4]),
        (long[:3], long),
        (1j * short, long),
    ):
        want = function(a, v, mode)
        np.testing.assert_allclose(client.decrypt(function(secret(a), v, mode)), want, atol=2e-4)
        np.testing.assert_allclose(
            client.decrypt(function(secret(a), secret(v), mode)), want, atol=2e-4
        )
        if not np.iscomplexobj(a):
            np.testing.assert_allclose(
                client.decrypt(function(a, secret(v), mode)), want, atol=2e-4
            )


@pytest.mark.parametrize(
    ("function", "first", "others"),
    [
        (np.sum, "a", {"axis": 0}),
        (np.mean, "a", {}),
        (np.roll, "a", {"shift": 1}),
        (np.flip, "m", {}),
        (np.tile, "A", {"reps": 2}),
        (np.resize, "a", {"new_shape": (2, 2)}),
        (np.expand_dims, "a", {"axis": 0}),
        (np.diff, "a", {}),
        (np.pad, "array", {"pad_width": 1}),
        (np.broadcast_to, "array", {"shape": (2, 3)}),
        (np.average, "a", {"weights": [1, 2, 3]}),
        (np.real, "val", {}),
    ],
)
def test_arrays_may_be_given_by_name(secret, near, function, first, others):
    near(function(**{first: secret(V)}, **others), function(**{first: V}, **others))


def test_several_arrays_may_be_given_by_name(secret, near):
    x = secret(V)
    near(np.stack(arrays=[x, V], axis=1), np.stack([V, V], axis=1))
    near(np.vstack(tup=[x, x]), np.vstack([V, V]))
    for part, want in zip(np.split(ary=x, indices_or_sections=3), np.split(V, 3), strict=True):
        near(part, want)
    assert (np.ndim(a=x), np.shape(a=x), np.size(a=x)) == (1, (3,), 3)


def test_what_arrays_hold_is_told(secret):
    real, complex_ = secret([1.0, 2.0]), secret([1.0, 2.0j])
    assert [real.is_complex, complex_.is_complex] == [False, True]
    assert [np.iscomplexobj(x) for x in (real, complex_, complex_[::-1])] == [False, True, True]
    assert [np.isrealobj(x) for x in (real, complex_)] == [True, False]
    assert "complex" in repr(complex_)
    assert "complex" not in repr(real)
    with pytest.raises(AttributeError, match=r"no dtype: use x\.plain_modulus"):
        _ = real.dtype
    assert not hasattr(real, "nonzero")
