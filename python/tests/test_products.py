"""numpy's products of arrays of more than two axes, and its linear maps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import hippocrene
from hippocrene import ShapeError

RNG = np.random.default_rng(5)
STACK, OTHER = RNG.uniform(-1, 1, (2, 3, 4)), RNG.uniform(-1, 1, (2, 4, 5))
MATRIX, VECTOR = RNG.uniform(-1, 1, (4, 5)), RNG.uniform(-1, 1, 4)
TRAPEZOID = getattr(
    np, "trapezoid" if hasattr(np, "trapezoid") else "trapz"
)  # numpy before version 2
WAYS = ("left", "right", "both")


def check(client, secret, function, *arrays, way="left"):
    """Hold a function of encrypted arrays, or of encrypted and plain ones, to what numpy makes of plain ones."""
    hidden = {"left": (0,), "right": (len(arrays) - 1,), "both": range(len(arrays))}[way]
    operands = [secret(x) if i in hidden else x for i, x in enumerate(arrays)]
    expected = function(*arrays)
    got = client.decrypt(function(*operands))
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, atol=1e-3)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        (STACK, OTHER),
        (STACK, MATRIX),
        (STACK, VECTOR),
        (VECTOR, OTHER),
        (STACK[:1], OTHER),
        (OTHER.swapaxes(1, 2), MATRIX),
    ],
)
def test_stacks_of_matrices(client, secret, left, right, way):
    check(client, secret, np.matmul, left, right, way=way)


@pytest.mark.parametrize("way", WAYS)
def test_dot_takes_all_rows_with_all_matrices(client, secret, way):
    check(client, secret, np.dot, STACK, OTHER, way=way)
    check(
        client,
        secret,
        lambda a, b: a.dot(b) if way != "right" else np.dot(a, b),
        VECTOR,
        OTHER,
        way=way,
    )


@pytest.mark.parametrize("way", WAYS)
def test_products_of_all_elements_with_all(client, secret, way):
    check(client, secret, np.kron, VECTOR, VECTOR[:3], way=way)
    check(client, secret, np.kron, MATRIX[:2, :3], VECTOR[:2], way=way)
    check(client, secret, np.add.outer, VECTOR, MATRIX[0], way=way)
    check(client, secret, np.multiply.outer, VECTOR, MATRIX[:2], way=way)
    check(client, secret, np.subtract.outer, VECTOR, VECTOR, way=way)


def test_linear_maps(client, secret):
    for function in (
        np.fft.fft,
        lambda x: np.fft.ifft(x, norm="ortho"),
        lambda x: np.fft.rfft(x, 6),
        np.gradient,
        lambda x: np.gradient(x, 0.5, edge_order=2),
        TRAPEZOID,
    ):
        check(client, secret, function, VECTOR)
    check(client, secret, np.fft.fft, VECTOR + 1j * VECTOR[::-1])
    check(client, secret, lambda x: np.fft.fft(x, axis=0), MATRIX)
    check(client, secret, lambda x: np.gradient(x, [0.0, 1.0, 3.0, 4.0, 8.0], axis=1), MATRIX)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "shapes",
    [
        ((3, 3), (3, 3, 3)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 3, 4)),
        ((2, 3), (4, 2, 3)),
        ((1, 1, 1), (1, 1, 1)),
        ((3, 2), (3, 2)),
    ],
)
def test_inner_products_of_last_axes(client, secret, way, shapes):
    check(client, secret, np.inner, *(RNG.uniform(-1, 1, shape) for shape in shapes), way=way)


@pytest.mark.parametrize("way", WAYS)
def test_vdot_flattens(client, secret, way):
    check(client, secret, np.vdot, MATRIX, MATRIX.reshape(10, 2), way=way)


def test_nothing_lies_between_one_place(client, secret):
    check(client, secret, lambda x: TRAPEZOID(x, axis=1), MATRIX[:, :1])


@pytest.mark.parametrize(("precision", "count"), [(8, 1000), (10, 4000), (14, 1000), (16, 4000)])
def test_means_at_low_precision(precision, count):
    """The factor of a mean is in one slot of a plaintext, so that all coefficients are small and equal."""
    client = hippocrene.Client.generate("n14", precision=precision)
    mean = hippocrene.Server(client.evaluation_keys()).load(client.encrypt(np.ones(count))).mean()
    assert abs(client.decrypt(mean) - 1) < 6 * 2.0**-mean.precision_bits


def test_names_of_linear_algebra(client, secret):
    square, vectors = MATRIX[:, :4], RNG.uniform(-1, 1, (2, 4, 3))
    for way in WAYS:
        check(client, secret, np.cross, vectors, vectors[0, 1], way=way)
        check(
            client,
            secret,
            lambda a, b: np.cross(a.T, b, axisa=0, axisc=0),
            vectors[0],
            vectors[1],
            way=way,
        )
        check(
            client,
            secret,
            lambda a, b: np.linalg.multi_dot([a, 2 * MATRIX, b]),
            square,
            MATRIX.T,
            way=way,
        )
    powers = hippocrene.simulate(
        lambda x: [np.linalg.matrix_power(x, n) for n in (1, 2, 3, 6)], square, preset="n15"
    )
    for n, got in zip((1, 2, 3, 6), powers.result, strict=True):
        np.testing.assert_allclose(got, np.linalg.matrix_power(square, n), atol=1e-4)
    # Since versions 2 to 2.2.
    functions = {
        "matmul": (STACK, OTHER),
        "outer": (VECTOR, MATRIX[0]),
        "tensordot": (STACK, OTHER[:1, :, :3].T),
        "vecdot": (STACK, VECTOR),
        "cross": (vectors, vectors[::-1]),
    }
    for name in functions.keys() & vars(np.linalg).keys():
        for way in WAYS:
            check(client, secret, getattr(np.linalg, name), *functions[name], way=way)
    for name in (
        {"matrix_transpose", "diagonal", "trace"} & vars(np.linalg).keys()
        if hasattr(np, "vecdot")
        else ()
    ):
        check(client, secret, getattr(np.linalg, name), STACK)
    ufuncs = {"vecdot": (STACK, VECTOR), "matvec": (STACK, VECTOR), "vecmat": (VECTOR, OTHER)}
    for name in ufuncs.keys() & vars(np).keys():
        for way in WAYS:
            check(client, secret, getattr(np, name), *ufuncs[name], way=way)
    if hasattr(np, "vecdot"):
        check(client, secret, lambda a, b: np.linalg.vecdot(a, b, axis=0), MATRIX, MATRIX)
        check(client, secret, lambda a, b: np.vecdot(a, b, axis=0), MATRIX, MATRIX)
        of_complex = hippocrene.Server(client.evaluation_keys(conjugation=True))
        turned = of_complex.load(client.encrypt(VECTOR * 1j))
        np.testing.assert_allclose(
            client.decrypt(np.vecdot(turned, VECTOR + 1j)),
            np.vecdot(VECTOR * 1j, VECTOR + 1j),
            atol=1e-3,
        )


def test_bounds_of_narrow_products_are_near(client, secret):
    for columns, rows, most in (
        (35, 2, 3.0),
        (300, 3, 3.0),
        (5, 1, 3.0),
        (2, 35, 1.0),
        (2000, 2, 200.0),
    ):
        x, w = RNG.uniform(-1, 1, columns), RNG.uniform(-1, 1, (columns, rows)) / columns
        y = secret(x, bound=1.0) @ w
        np.testing.assert_allclose(client.decrypt(y), x @ w, atol=1e-5)
        assert y.bound <= most * rows.bit_length()
        if columns < 1000:
            assert y.precision_bits > 29
    # By keys of few rotations too: of those that there are no keys for, none is made.
    few = hippocrene.Server(client.evaluation_keys(rotations=[2**k for k in range(12)]))
    x = RNG.uniform(-1, 1, 35)
    np.testing.assert_allclose(
        client.decrypt(few.load(client.encrypt(x)) @ np.eye(35, 2)), x[:2], atol=1e-4
    )


def test_one_row_times_a_long_transpose(client, secret):
    x, row = RNG.uniform(-1, 1, (2, 8200)), RNG.uniform(-1, 1, (1, 8200)) / 90
    with_keys = hippocrene.simulate(lambda x: row @ x.T, x, preset="n14")
    assert len(with_keys.rotations) < 40
    check(client, secret, lambda x: row @ x.T, x)
    check(client, secret, lambda x: (row @ x.T) * np.ones((3, 2)), x)


def test_sums_up_to_each_of_many(client, secret):
    for size in (2049, 4096):
        x = RNG.uniform(-1, 1, size)
        check(client, secret, np.cumsum, x)
        diagonals = hippocrene.simulate(np.cumsum, x, preset="n14").rotations
        assert len(diagonals) < 100


def test_sizes_and_parts(client, secret):
    x = secret(STACK)
    assert [np.size(x), np.size(x, 1), np.size(x, axis=-1)] == [24, 3, 4]
    if hasattr(np, "unstack"):
        for got, part in zip(np.unstack(x, axis=1), np.unstack(STACK, axis=1), strict=True):
            np.testing.assert_allclose(client.decrypt(got), part, atol=1e-4)


def test_diagonals_and_blocks(client, secret):
    for k in (0, 1, -2):
        check(client, secret, lambda x, k=k: np.diag(x, k), VECTOR)
        check(client, secret, lambda x, k=k: np.diag(x, k), MATRIX)
    check(
        client,
        secret,
        lambda x: np.block([[x, np.ones((4, 1))], [x[:2], np.zeros((2, 1))]]),
        MATRIX,
    )
    check(client, secret, lambda x, y: np.block([x, 0.5, y]), VECTOR, VECTOR[:2], way="both")
    check(client, secret, lambda x: np.compress([True, False, True], x, axis=0), MATRIX)


def test_what_does_not_go_together_is_refused(secret):
    x = secret(STACK)
    for wrong in (
        lambda: x @ OTHER[:, :1],
        lambda: x @ np.ones((3, 4, 5)),
        lambda: np.dot(x, np.ones((2, 3, 5))),
        lambda: x @ 3.0,
        lambda: 3.0 @ x,
        lambda: np.diag(x),
        lambda: np.fft.fft(x, 0),
        lambda: np.cross(x, x),
        lambda: np.linalg.matrix_power(x, 2),
    ):
        with pytest.raises(ShapeError):
            wrong()
    for wrong, match in (
        (lambda: np.compress(x[0, 0], VECTOR), "encrypted condition"),
        (lambda: np.fft.rfft(x * 1j), "real numbers"),
    ):
        with pytest.raises(TypeError, match=match):
            wrong()


@pytest.mark.parametrize(
    "shape",
    [
        (100, 2, 3),
        (40, 4, 10),
        (3000, 2, 7),
        (5000, 3, 4),
        (9000, 1, 2),
        (2, 60, 3, 5),
        (60, 20, 40),
        (200, 8, 100),
    ],
)
def test_matrices_that_make_rows_longer(client, secret, shape):
    x, w = RNG.uniform(-1, 1, shape[:-1]), RNG.uniform(-1, 1, shape[-2:])
    assert len(hippocrene.simulate(lambda x: x @ w, x, preset="n14").rotations) < 10
    check(client, secret, lambda x: x @ w, x)
    # Further operations on results whose elements are far apart, with other numbers in between.
    w2, bias = RNG.uniform(-1, 1, (shape[-1], 3)), RNG.uniform(-1, 1, shape[-1])
    check(client, secret, lambda x: (x @ w + bias) ** 2 @ w2 + 0.5, x)
    check(client, secret, lambda x: (x @ w).sum(0) + (x @ w)[1] + x @ w @ w.T @ w, x)
    if len(shape) == 3:
        assert len(hippocrene.simulate(lambda x: w.T @ x.T, x, preset="n14").rotations) < 10
        check(client, secret, lambda x: w.T @ x.T - (x @ w).T * 2, x)


def test_products_of_matrices_one_after_the_other():
    turn = np.linalg.qr(RNG.normal(size=(4, 4)))[0]

    def program(x):
        y = x
        for _ in range(20):
            y = (y @ x).with_bound(1.0).with_precision_bits(25)
        return y

    simulation = hippocrene.simulate(program, turn, preset="n16s", bootstrapping=True)
    np.testing.assert_allclose(simulation.result, np.linalg.matrix_power(turn, 21), atol=1e-4)
    assert simulation.bootstraps > 0
    assert simulation.peak_memory < 12 << 30
    assert (
        hippocrene.simulate(lambda x: np.linalg.matrix_power(x, 64), turn, preset="n16").peak_memory
        < 8 << 30
    )


def test_what_numpy_takes_for_no_product_is_none_here(secret):
    v, m = np.arange(4.0), np.arange(12.0).reshape(3, 4)
    wrong = [lambda x: np.linalg.outer(x(m), v)] if hasattr(np.linalg, "outer") else []
    if hasattr(np, "matvec"):
        wrong += [
            lambda x: np.matvec(x(v), m),
            lambda x: np.vecmat(x(m), v),
            lambda x: np.vecmat(v, x(v)),
        ]
    for compute in wrong:
        with pytest.raises(ValueError, match=r"ax|dim"):
            compute(np.asarray)
        with pytest.raises(ShapeError, match=r"^(matvec|vecmat|linalg\.outer): shapes"):
            compute(secret)


def test_complex_weights_and_places_are_refused(secret):
    for compute in (
        lambda x: np.average(x, weights=[1, 1j, 2]),
        lambda x: TRAPEZOID(x, [0, 1j, 2]),
    ):
        with pytest.raises(TypeError, match=r"^(average takes real|trapezoid takes doubles)"):
            compute(secret([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("plain", [["a", "b"], [None, None], np.ones(2, np.longdouble)])
def test_what_is_no_double_is_not_correlated(secret, plain):
    for compute in (lambda x: np.correlate(plain, x), lambda x: np.correlate(x, plain)):
        with pytest.raises(TypeError, match="takes doubles, not values of type"):
            compute(secret([1.0, 2.0]))


def test_products_of_windows_move_them_once():
    x = RNG.uniform(-1, 1, 40)
    plain = sliding_window_view(x, 3)

    def products(x):
        windows, moved = sliding_window_view(x, 3), sliding_window_view(x, 3)
        moved = moved.compute()
        both = [windows.T @ windows, moved.T @ moved]
        return both, [x.capacity_bits - product.capacity_bits for product in both]

    simulation = hippocrene.simulate(products, x, preset="n15")
    both, taken = simulation.result
    for product in both:
        np.testing.assert_allclose(product, plain.T @ plain, atol=1e-6)
    assert taken[0] == taken[1]


def test_several_axes_of_encrypted_arrays_stay_where_they_are():
    x = RNG.uniform(-1, 1, (6, 5, 5))

    def products(x):
        both = [np.tensordot(x, x, ([1, 2], [1, 2])), np.einsum("aij,bij->ab", x, x)]
        return both, [x.capacity_bits - product.capacity_bits for product in both]

    both, taken = hippocrene.simulate(products, x, preset="n14").result
    for product in both:
        np.testing.assert_allclose(product, np.tensordot(x, x, ([1, 2], [1, 2])), atol=1e-6)
    assert taken[0] == taken[1] < 100


@pytest.mark.parametrize(("shape", "columns"), [((4, 1024), 10), ((784,), 5), ((2, 3, 512), 7)])
def test_few_columns_of_long_rows_are_sums_of_groups(shape, columns):
    """Some rotations, and not a product with each of all the diagonals."""
    rng = np.random.default_rng(2)
    x, w = rng.uniform(-1, 1, shape), rng.normal(size=(shape[-1], columns)) / 64
    simulated = hippocrene.simulate(lambda x: x @ w, x, preset="n13", precision=16)
    assert len(simulated.rotations) < 40
    client = hippocrene.Client.generate("n13", precision=16)
    y = hippocrene.Server(client.evaluation_keys(for_=simulated)).load(client.encrypt(x)) @ w
    error = client.decrypt(y) - x @ w
    assert np.sqrt(np.mean(error**2)) < 2.0**-15
    assert (y.precision_bits, y.capacity_bits) == (
        simulated.precision_bits,
        simulated.capacity_bits,
    )


@pytest.mark.parametrize("shape", [(20, 500), (6, 300)])
def test_plain_matrices_times_transposed_arrays_are_products_along_rows(shape):
    """`W @ x.T` costs the same as `x @ W.T`, without products for each diagonal of the transpose."""
    rng = np.random.default_rng(3)
    x, w = rng.uniform(-1, 1, shape), rng.normal(size=(3, shape[1])) / 64
    turned = hippocrene.simulate(lambda x: w @ x.T, x, preset="n13", precision=16)
    straight = hippocrene.simulate(lambda x: x @ w.T, x, preset="n13", precision=16)
    assert turned.rotations == straight.rotations
    client = hippocrene.Client.generate("n13", precision=16)
    y = hippocrene.Server(client.evaluation_keys(for_=turned)).load(client.encrypt(x))
    error = client.decrypt(w @ y.T) - w @ x.T
    assert np.sqrt(np.mean(error**2)) < 2.0**-15


@pytest.mark.parametrize(("length", "columns"), [(784, 128), (128, 784), (300, 128)])
def test_a_single_row_is_multiplied_as_a_vector(length, columns):
    row, matrix = RNG.uniform(-1, 1, length), RNG.uniform(-1, 1, (length, columns))
    seconds = []
    for shape in ((length,), (1, length), (1, 1, length)):
        program = hippocrene.compile(
            lambda x: x @ matrix, hippocrene.spec(shape, bound=1), preset="n14"
        )
        got = hippocrene.simulate(program, row.reshape(shape)).result
        assert got.shape == (*shape[:-1], columns)
        np.testing.assert_allclose(got.ravel(), row @ matrix, atol=program.error_bound)
        seconds.append(program.seconds)
    assert max(seconds) < 1.01 * min(seconds)


def test_rows_take_fewer_products_with_plaintexts_than_the_matrix_has_diagonals():
    rows, matrix = RNG.uniform(-1, 1, (2, 784)), RNG.uniform(-1, 1, (784, 128))
    simulation = hippocrene.simulate(lambda x: x @ matrix, rows, bound=1, preset="n14")
    np.testing.assert_allclose(simulation.result, rows @ matrix, atol=1e-6)
    # There are 911 diagonals.
    assert simulation.operations["encode"][0] < 300
