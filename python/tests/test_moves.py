from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hippocrene
from hippocrene import ArgumentError, ShapeError
from hippocrene.arrays.places import places_at

few = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
shapes = hnp.array_shapes(min_dims=1, max_dims=3, max_side=7)


def plain(shape) -> np.ndarray:
    return np.arange(1.0, 1 + np.prod(shape)).reshape(shape) / 64


@pytest.fixture
def near(client):
    def check(encrypted, want) -> None:
        assert encrypted.shape == np.shape(want)
        np.testing.assert_allclose(client.decrypt(encrypted), want, atol=1e-4)

    return check


@few
@given(st.data(), shapes)
def test_slices_are_numpys(secret, near, data, shape):
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True))
    array = plain(shape)
    if array[key].size:
        near(secret(array)[key], array[key])
    else:
        with pytest.raises(ShapeError, match="no elements"):
            secret(array)[key]


@given(st.data(), shapes)
def test_places_at_slices_are_numpys(data, shape):
    key = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    np.testing.assert_array_equal(
        places_at(shape, key), np.arange(np.prod(shape)).reshape(shape)[key]
    )
    # Keys that numpy treats in another way, or refuses.
    for other in (
        [0],
        True,
        np.ones(shape, dtype=bool),
        (..., ...),
        shape[0],
        slice(None, None, 0),
        "0",
    ):
        assert places_at(shape, other) is None


@few
@given(st.data(), shapes)
def test_picks_are_numpys(secret, near, data, shape):
    array = plain(shape)
    key = data.draw(
        hnp.integer_array_indices(shape, result_shape=hnp.array_shapes(max_dims=2, max_side=4))
    )
    near(secret(array)[key], array[key])
    mask = data.draw(hnp.arrays(bool, shape))
    mask.flat[0] = True
    near(secret(array)[mask], array[mask])


MOVES = [
    lambda x: np.flip(x, -1),
    lambda x: np.flip(x),
    lambda x: np.pad(x, 1),
    lambda x: np.pad(x, ((0, 0), (2, 1)), "wrap"),
    lambda x: x[::3, ::-1],
]


@pytest.mark.parametrize("move", MOVES)
def test_transposes_are_moved_as_what_they_are_of(move):
    shape, seconds = (256, 64), []
    for program in (lambda x: move(x.T), lambda x: move(x).T):
        simulation = hippocrene.simulate(program, plain(shape), preset="n14")
        np.testing.assert_allclose(simulation.result, program(plain(shape)), atol=1e-6)
        seconds.append(simulation.seconds)
    assert seconds[0] < 8 * seconds[1]


def test_axes_in_any_order_are_moved(secret, near):
    array = plain((5, 16, 31))
    for axes in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)):
        x, want = secret(array).transpose(axes), array.transpose(axes)
        near(np.flip(x), np.flip(want))
        near(
            np.pad(x, 1, constant_values=0.5) + np.pad(x, 1),
            np.pad(want, 1, constant_values=0.5) + np.pad(want, 1),
        )
        near(np.flip(x, 0) * want, np.flip(want, 0) * want)


def test_long_arrays_are_repeated_as_they_stand():
    a, factors = plain((64, 128, 1)), np.array([[[1.0, -2.0, 0.5]]])

    def program(x):
        repeated = x * factors
        # One product, no more.
        assert repeated.capacity_bits > (x * 0.7).capacity_bits - 3
        # Sums along an axis leave other numbers between the elements.
        sums = x.sum(1, keepdims=True) * factors
        return [repeated, repeated.sum(2), repeated[5], sums, np.flip(repeated, 2) + factors]

    simulation = hippocrene.simulate(program, a, preset="n13")
    product = a * factors
    sums = a.sum(1, keepdims=True) * factors
    for got, want in zip(
        simulation.result,
        [product, product.sum(2), product[5], sums, np.flip(product, 2) + factors],
        strict=True,
    ):
        np.testing.assert_allclose(got, want, atol=1e-5)


def test_the_longer_of_two_arrays_stays_where_it_is():
    a, factors = plain((64, 128, 1)), np.array([[[1.0, -2.0, 0.5]]])
    forward = hippocrene.simulate(lambda x, y: x * y, a, factors, preset="n13")
    backward = hippocrene.simulate(lambda x, y: y * x, a, factors, preset="n13")
    assert backward.seconds < 1.1 * forward.seconds
    np.testing.assert_allclose(forward.result, a * factors, atol=1e-5)
    np.testing.assert_allclose(backward.result, a * factors, atol=1e-5)


def test_moves_among_ciphertexts_leave_bounds():
    bounds = []

    def program(x):
        moved = [
            np.roll(x, 5),
            np.flip(x),
            np.pad(x, 3),
            x[::3],
            np.concatenate([x, x]),
            x.reshape(4, -1),
        ]
        bounds.extend(y.bound for y in moved)
        return moved

    simulation = hippocrene.simulate(program, np.linspace(-1, 1, 20000), preset="n14")
    assert bounds == [1.0] * 6
    np.testing.assert_allclose(
        simulation.result[0], np.roll(np.linspace(-1, 1, 20000), 5), atol=1e-6
    )


def test_what_was_picked_is_computed_with(secret, near):
    array = plain((6, 5))
    x = secret(array)
    near(x[1:4] * x[0] + x[:3, ::-1], array[1:4] * array[0] + array[:3, ::-1])
    near(x[:, 2].sum(), array[:, 2].sum())
    near(x[2:, 1:4].mean(axis=0), array[2:, 1:4].mean(axis=0))
    near(x[-1] @ np.ones(5), array[-1].sum())
    for got, want in zip(x, array, strict=True):
        near(got, want)
    # Rows, columns and slices with steps of powers of two cost nothing of the capacity.
    for picked in (x[1:4], x[:, 2], x[::2, 1::2], x[-1], x.T, x[:, None]):
        assert x.capacity_bits - (picked + 1).capacity_bits < 3
    assert x.capacity_bits - (x[::-1] + 1).capacity_bits > 20


@pytest.mark.parametrize(
    "move",
    [
        lambda x: np.reshape(x, (4, -1)),
        lambda x: x.reshape(24),
        lambda x: x.reshape(2, 2, -1),
        lambda x: x.reshape((6, 4)),
        lambda x: x.ravel(),
        lambda x: np.transpose(x, (1, 2, 0)),
        lambda x: np.swapaxes(x, 0, 2),
        lambda x: np.moveaxis(x, 0, -1),
        lambda x: np.squeeze(x[:1]),
        lambda x: np.expand_dims(x, 1),
        lambda x: np.flip(x, axis=1),
        lambda x: np.take(x, [2, 0], axis=1),
        lambda x: np.repeat(x, 2, axis=0),
        lambda x: np.tile(x, (1, 2, 1)),
        lambda x: np.diagonal(x[0]),
        lambda x: np.concatenate([x, x[:, :1]], axis=1),
        lambda x: np.concatenate([x, x, x], axis=None),
        lambda x: np.stack([x, x + 1], axis=-1),
        lambda x: np.vstack([x[0], x[1]]),
        lambda x: np.hstack([x[0], x[1]]),
        lambda x: np.column_stack([x[0, 0], x[0, 1]]),
        lambda x: np.split(x, 2, axis=2)[1],
        lambda x: np.array_split(x, 2, axis=1)[0],
        lambda x: x.reshape(6, 4, order="F"),
        lambda x: x.ravel("F"),
        lambda x: x.flatten(order="F"),
        lambda x: np.resize(x[0], (2, 7)),
        lambda x: np.take_along_axis(x[0], np.array([[1, 3], [0, 0], [2, 1]]), axis=1),
        lambda x: np.fft.fftshift(x, axes=-1),
        lambda x: np.fft.ifftshift(x[0, 0, :3]),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, axis=2),
        lambda x: np.lib.stride_tricks.sliding_window_view(x[0], (2, 3)).mean((-2, -1)),
        lambda x: np.sum(x, axis=1),
        lambda x: np.mean(x, (0, 2)),
        lambda x: np.roll(x, 1, axis=0),
        lambda x: np.dot(x[0], x[1].T),
        lambda x: np.dot(np.ones((5, 3)), x[0]),
        lambda x: np.dot(2, x),
    ],
)
def test_numpys_functions_move_elements(secret, near, move):
    array = plain((2, 3, 4))
    near(move(secret(array)), move(array))


def test_encrypted_matrices_are_multiplied(secret, near):
    left, right = plain((3, 5)), plain((5, 4)) - 0.2
    near(secret(left) @ secret(right), left @ right)
    with pytest.raises(ShapeError, match="last axis"):
        secret(left) @ secret(left)


def test_integers_move_as_they_are():
    client = hippocrene.Client.generate("n13", scheme="bgv", plain_modulus=65537)
    server = hippocrene.Server(client.evaluation_keys())
    array = np.arange(60).reshape(5, 12)
    x = server.load(client.encrypt(array))
    for move in (
        lambda x: x[:, 3],
        lambda x: x[1::2, ::-1],
        lambda x: np.concatenate([x, x]),
        lambda x: x.T @ x,
    ):
        assert np.array_equal(client.decrypt(move(x)), move(array))


def test_what_cannot_be_moved_says_so(client, secret):
    x = secret(plain((2, 3)))
    with pytest.raises(IndexError, match="out of bounds"):
        x[2]
    with pytest.raises(IndexError, match="too many indices"):
        x[0, 0, 0]
    with pytest.raises(ValueError, match="cannot reshape"):
        x.reshape(4)
    with pytest.raises(TypeError, match="takes no encrypted arrays"):
        np.cumprod(x)
    for arguments, keywords in [
        ((x, [0], 0, np.zeros((1, 3))), {}),
        ((x, [0]), {"axis": 0, "out": np.zeros((1, 3))}),
    ]:
        with pytest.raises(TypeError, match=r"numpy.take takes no"):
            np.take(*arguments, **keywords)
    with pytest.raises(TypeError, match="cannot become a plain one"):
        np.take(plain((2, 3)), x)
    for key in (x, (0, x)):
        with pytest.raises(TypeError, match=r"encrypted masks .* Multiply by a mask of zeros and"):
            x[key]
    with pytest.raises(TypeError, match="never change"):
        x[0] = 1
    with pytest.raises(TypeError, match="never change"):
        x[0, 1:] += 1
    with pytest.raises(TypeError, match="len"):
        iter(x[0, 0]).__next__()
    with pytest.raises(hippocrene.MissingServerError, match="moving elements"):
        client.encrypt(plain((2, 3)))[0]


@pytest.mark.parametrize("order", ["A", "K"])
def test_orders_of_memory_are_refused_by_the_name_of_what_was_called(secret, near, order):
    array = plain((2, 3))
    x = secret(array)
    for name, move in (
        ("ravel", lambda x, order: x.T.ravel(order)),
        ("flatten", lambda x, order: x.T.flatten(order)),
        ("reshape", lambda x, order: x.T.reshape(6, order=order)),
        (r"numpy\.ravel", lambda x, order: np.ravel(x.T, order)),
        (r"numpy\.reshape", lambda x, order: np.reshape(x.T, -1, order=order)),
    ):
        with pytest.raises(
            ArgumentError, match=rf"^{name}: order is '{order}': .* orders 'C' and 'F'$"
        ):
            move(x, order)
    near(np.ravel(x.T, order="F"), np.ravel(array.T, order="F"))


def test_images_are_padded_in_place_where_there_is_room(client, server):
    for shape in ((28, 28), (3, 13, 13), (2, 2, 5, 6)):
        values = np.random.default_rng(6).uniform(-1, 1, shape)
        x = server.load(client.encrypt(values))
        for margins in (1, [(0, 0)] * (len(shape) - 2) + [(2, 1), (0, 2)]):
            y = np.pad(x, margins if margins != 1 else [(0, 0)] * (len(shape) - 2) + [(1, 1)] * 2)
            expected = np.pad(
                values, margins if margins != 1 else [(0, 0)] * (len(shape) - 2) + [(1, 1)] * 2
            )
            np.testing.assert_allclose(client.decrypt(y), expected, atol=1e-6)
            # No product, with anything.
            assert y.capacity_bits == x.capacity_bits
        framed = np.pad(x, [(0, 0)] * (len(shape) - 2) + [(1, 1)] * 2, constant_values=0.5)
        assert framed.capacity_bits > x.capacity_bits - 2
        # The slots around the elements sum to zero.
        np.testing.assert_allclose(client.decrypt(y.sum()), values.sum(), atol=1e-5)
    # Beyond the power of two they move, which is one product.
    values = np.random.default_rng(7).uniform(-1, 1, (32, 8))
    x = server.load(client.encrypt(values))
    y = np.pad(x, ((0, 0), (1, 0)))
    np.testing.assert_allclose(client.decrypt(y), np.pad(values, ((0, 0), (1, 0))), atol=1e-6)
    assert y.capacity_bits < x.capacity_bits - 20


def test_more_repeats_than_an_array_can_have_are_refused(secret):
    x = secret(np.arange(4.0))
    for repeats in (2**62, np.array([2**62] * 4)):
        with pytest.raises(hippocrene.ShapeError, match="repeat: 18446744073709551616 elements"):
            np.repeat(x, repeats)


@pytest.mark.parametrize(
    ("name", "compute"),
    [
        ("numpy.tile: 4000000000000", lambda x: np.tile(x, 10**12)),
        ("numpy.tile: 16000000000000", lambda x: np.tile(x, (2, 2 * 10**12))),
        ("numpy.resize: 1000000000000", lambda x: np.resize(x, (10**6, 10**6))),
        ("numpy.pad: 2000000000004", lambda x: np.pad(x, 10**12)),
        ("numpy.pad: 1000000000005", lambda x: np.pad(x, (1, 10**12), mode="edge")),
        ("diag: 1000008000016", lambda x: np.diag(x, 10**6)),
        ("broadcast_to: 4000000000000", lambda x: np.broadcast_to(x, (10**12, 4))),
    ],
)
def test_more_elements_than_an_array_can_have_are_refused(secret, name, compute):
    with pytest.raises(ShapeError, match=rf"^{name}\d* elements, an array has up to 2\^32"):
        compute(secret(np.arange(4.0)))


def test_more_windows_than_an_array_can_have_are_refused(secret):
    with pytest.raises(
        ShapeError, match=r"sliding_window_view: 4295032832 elements, an array has up to 2\^32"
    ):
        np.lib.stride_tricks.sliding_window_view(secret(np.zeros(2**17)), 2**16)


def test_what_numpy_says_of_types_names_what_was_called(secret):
    x = secret(plain((2, 3)))
    for name, computations in {
        "roll": [lambda: x.roll(1.5), lambda: x.roll("a")],
        "reshape": [lambda: x.reshape("a")],
        "swapaxes": [lambda: x.swapaxes(0, None)],
        "take": [lambda: x.take(None)],
        "diagonal": [lambda: x.diagonal(1.5)],
        "numpy.flip": [lambda: np.flip(x, 1.5)],
        "numpy.stack": [lambda: np.stack([x, x], axis="a")],
        "numpy.split": [lambda: np.split(x, object())],
        "numpy.insert": [lambda: np.insert(x, "a", 1.0)],
        "numpy.size": [lambda: np.size(x, 1.5)],
    }.items():
        for compute in computations:
            with pytest.raises(TypeError, match=f"^{name}: "):
                compute()
    with pytest.raises(OverflowError, match=r"^numpy\.flip: "):
        np.flip(x, 10**400)


@pytest.mark.parametrize("scheme", [{}, {"scheme": "bgv", "plain_modulus": 65537}])
def test_what_stands_far_apart_is_packed(scheme):
    client = hippocrene.Client.generate("n13", **scheme)
    server = hippocrene.Server(client.evaluation_keys())
    x = server.load(client.encrypt(np.arange(300 * 64).reshape(300, 64) % 7))
    sums = (x * x).sum(axis=1)
    packed = sums.packed()
    np.testing.assert_allclose(client.decrypt(packed), client.decrypt(sums), atol=1e-2)
    assert 3 * len(packed.to_bytes()) < len(sums.to_bytes())
    np.testing.assert_allclose(client.decrypt(packed.packed()), client.decrypt(packed), atol=1e-9)
    np.testing.assert_array_equal(
        np.rint(client.decrypt(x.take([3, 99], axis=1, mode="clip")))[0], [3, 63 % 7]
    )
