"""Elements that are picked and not moved before they are needed, against numpy."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hippocrene
from hippocrene import BudgetError, CapacityError, EncodeError, MissingKeyError

windows = np.lib.stride_tricks.sliding_window_view
few = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def plain(shape, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape)


@pytest.fixture(scope="module")
def whole() -> tuple[hippocrene.Client, hippocrene.Server]:
    client = hippocrene.Client.generate("n13", scheme="bgv")
    return client, hippocrene.Server(client.evaluation_keys())


KERNEL, CHANNELS = plain((2, 3), 1), plain((3, 2, 3), 2)
# Programs on an array of shape (3, 6, 8), for numpy and for encrypted arrays.
SUMS = [
    lambda x: np.einsum("nijkl,kl->nij", windows(x, (2, 3), axis=(1, 2)), KERNEL),
    lambda x: np.einsum("nijkl,okl->noij", windows(x, (2, 3), axis=(1, 2)), CHANNELS),
    lambda x: np.einsum("nijkl,nkl->ij", windows(x, (2, 3), axis=(1, 2)), CHANNELS),
    lambda x: np.tensordot(windows(x, (2, 3), axis=(1, 2)), CHANNELS, ((3, 4), (1, 2))),
    lambda x: np.tensordot(CHANNELS, windows(x, (2, 3), axis=(1, 2)), ((1, 2), (3, 4))),
    lambda x: (windows(x, (2, 3), axis=(1, 2)) * KERNEL).sum(axis=(-2, -1)),
    lambda x: (KERNEL * windows(x, (2, 3), axis=(1, 2))).mean((-2, -1), keepdims=True),
    lambda x: windows(x, (2, 2), axis=(1, 2))[:, ::2, ::2].mean(axis=(-1, -2)),
    lambda x: windows(x[0, 0], 3).reshape(-1, 3) @ KERNEL.T,
    lambda x: KERNEL @ windows(x[0, 0], 3).T,
    lambda x: KERNEL[:, 0] @ windows(x[0, 0], 7),
    lambda x: windows(x[1], (2, 3)).transpose(2, 3, 0, 1)[1].sum(axis=0),
    lambda x: (windows(x[1], (2, 3)) * KERNEL)[2:, [1, 4]].sum(),
    lambda x: windows(windows(x[0, 0], 4), 2, axis=1).sum(axis=(1, 2)),
    lambda x: windows(x[0, 0], 3).sum(axis=(), keepdims=True),
    lambda x: windows(x[0, 0], 3) * (1 + 2j) @ KERNEL[0],
    lambda x: windows(x[0, 0], 3) @ (KERNEL[0] * (1 + 2j)),
    lambda x: windows(x[0, 0], 3) + 1,
    lambda x: windows(x[0, 0], 3) * KERNEL[0],
    lambda x: windows(x[0, 0], 3) * 2,
    lambda x: windows(x[0, 0], 3)[:, :, None] * KERNEL[:, 0],
    lambda x: windows(x[0, 0], 3) * windows(x[0, 1], 3),
    lambda x: windows(x[0, 0], 3).var(-1, ddof=1, keepdims=True),
    lambda x: windows(x, (2, 3), axis=(1, 2)).var(axis=(-1, -2)),
    lambda x: windows(x[0], 2, axis=0).var(),
    lambda x: (windows(x[0, 0], 3) ** 2).mean(-1),
    lambda x: ((windows(x[0, 0], 3) - windows(x[0, 1], 3)) ** 2) @ KERNEL[0],
    lambda x: (-windows(x[0, 0], 3) * windows(x[0, 0], 3))[1:].sum(0),
    lambda x: windows(x[0, 0], 3)[1:] * windows(x[0, 0], 3)[:-1],
    lambda x: windows(x[0, 0], 3).var(axis=1),
    lambda x: np.average(windows(x[0, 0], 3), axis=1, weights=[1, 2, 3]),
    lambda x: np.pad(windows(x[0, 0], 3), 1),
    lambda x: np.concatenate([windows(x[0, 0], 3), windows(x[0, 1], 3)]),
    lambda x: x.reshape(3, -1) @ plain((48, 5)),
    lambda x: plain((4, 6)) @ x.reshape(6, 24),
    lambda x: x.reshape(-1)[::-1].mean(),
    lambda x: x[x[:, 0, 0].shape[0] - 1, [1, 3, 0]].sum(axis=0),
    lambda x: x[:, [5, 0, 2]] @ plain(8),
    lambda x: np.tensordot(x, plain((6, 8, 2)), 2),
    lambda x: np.einsum("nij,ij->n", x, plain((6, 8))),
    lambda x: np.einsum("nij,nij->", x, plain((3, 6, 8))),
    lambda x: np.einsum("nij,jk->nik", x, plain((8, 3))),
    lambda x: np.einsum("i,nij->nj", plain(6), x),
    lambda x: x @ plain((3, 8, 4)),
    lambda x: x.reshape(-1)[[3, 3, 100, 7]].T * plain(4),
]


@pytest.mark.parametrize("compute", SUMS)
def test_sums_of_picked_elements_are_numpys(client, secret, compute):
    x = plain((3, 6, 8), 3)
    encrypted, want = compute(secret(x)), compute(x)
    assert encrypted.shape == want.shape
    np.testing.assert_allclose(client.decrypt(encrypted), want, atol=2e-4)


@few
@given(st.data(), hnp.array_shapes(min_dims=2, max_dims=3, max_side=6))
def test_picks_of_picks(secret, near, whole, data, shape):
    x, integral = plain(shape, 4), np.arange(np.prod(shape)).reshape(shape) - 9
    window = data.draw(st.integers(1, shape[-1]))
    kernel = plain(window, 5)
    client, server = whole
    seen, exact = (
        windows(secret(x), window, axis=-1),
        windows(server.load(client.encrypt(integral)), window, axis=-1),
    )
    want = [windows(one, window, axis=-1) for one in (x, integral)]
    for _ in range(data.draw(st.integers(0, 2))):
        key = data.draw(hnp.basic_indices(want[0].shape, min_dims=1, allow_ellipsis=False))
        if want[0][key].size and want[0][key].shape[-1:] == (window,):
            seen, exact, want = seen[key], exact[key], [one[key] for one in want]
    axis = data.draw(st.integers(0, want[0].ndim - 1))
    near(seen.sum(axis=axis), want[0].sum(axis=axis))
    near((seen * kernel).mean(axis=-1), (want[0] * kernel).mean(axis=-1))
    near(seen @ kernel, want[0] @ kernel)
    near(seen, want[0])
    coefficients = np.arange(window) - 2
    np.testing.assert_array_equal(
        client.decrypt(exact @ coefficients, signed=True), want[1] @ coefficients
    )
    np.testing.assert_array_equal(
        client.decrypt(exact.sum(axis=axis), signed=True), want[1].sum(axis=axis)
    )
    np.testing.assert_array_equal(client.decrypt(exact, signed=True), want[1])


def test_windows_times_a_kernel_take_few_keys_and_one_product():
    def convolved(x):
        return np.einsum("ijkl,kl->ij", windows(x, (3, 3)), plain((3, 3)))

    def moved(x):
        return (windows(x, (3, 3)) + 0) * 1

    image = plain((40, 40))
    seen, all_of_them = (hippocrene.simulate(f, image, preset="n14") for f in (convolved, moved))
    np.testing.assert_allclose(seen.result, convolved(image), atol=1e-4)
    assert len(seen.rotations) <= 6
    assert len(all_of_them.rotations) > 4 * len(seen.rotations)
    assert seen.seconds < all_of_them.seconds / 10


def test_windows_are_computed_with_as_what_they_are_windows_of():
    x, y = plain(3000), plain(3000, 1)

    def rolling(x, y):
        a, b = windows(x, 20), windows(y, 20)
        return [a.var(-1, ddof=1), (a * b).mean(-1), ((a - b) ** 2).sum(-1)]

    report = hippocrene.simulate(rolling, x, y, preset="n14")
    assert len(report.rotations) < 12
    client = hippocrene.Client.generate("n14")
    server = hippocrene.Server(client.evaluation_keys(for_=report))
    encrypted = [server.load(client.encrypt(part)) for part in (x, y)]
    for got, expected in zip(rolling(*encrypted), rolling(x, y), strict=True):
        assert encrypted[0].capacity_bits - got.capacity_bits < 100
        np.testing.assert_allclose(client.decrypt(got), expected, atol=1e-6)


def test_integers_of_windows_are_exact(whole):
    client, server = whole
    x = np.arange(40)
    array = server.load(client.encrypt(x))
    np.testing.assert_array_equal(
        client.decrypt((windows(array, 5) ** 2).sum(-1)), (windows(x, 5) ** 2).sum(-1)
    )
    with pytest.raises(TypeError, match="no variance"):
        windows(array, 5).var(-1)


def test_what_is_returned_of_a_simulated_program_is_moved_there():
    order = np.random.default_rng(1).permutation(100)
    simulated = hippocrene.simulate(lambda x: x[order], plain(100), preset="n14")
    assert simulated.rotations
    np.testing.assert_allclose(simulated.result, plain(100)[order], atol=1e-4)


def test_a_sum_of_picked_elements_takes_one_product(secret, near):
    x = plain((30, 7))
    rows = np.array([1, 4, 5, 20, 29, 2, 8])
    encrypted = secret(x)
    picked = encrypted[rows]
    assert "picked" in repr(picked)
    assert "picked" in repr(picked.copy())
    # Properties are those after the move. Reading them moves nothing, so that sums are still
    # computed without a move.
    said = picked.capacity_bits, picked.precision_bits
    assert "picked" in repr(picked)
    (total, again) = (picked.sum(axis=0) for _ in range(2))
    near(total, x[rows].sum(axis=0))
    near(again, x[rows].sum(axis=0))
    # They are moved where they are summed for the second time, for all that follow.
    assert "picked" not in repr(picked)
    assert (picked.capacity_bits, picked.precision_bits) == said
    spent = encrypted.capacity_bits - picked.capacity_bits
    assert spent > 20
    assert encrypted.capacity_bits - total.capacity_bits < 1.5 * spent
    assert picked.precision == encrypted.precision
    assert picked.bound == encrypted.bound


def test_precision_that_was_asked_for_is_that_of_what_was_picked_then(secret, server):
    x = secret(plain((30, 7)))
    rows = [1, 4, 2]
    with server.at_precision(12):
        picked, seen = x[rows], windows(x, 3, axis=1)
    for array in (picked, picked.sum(axis=0), seen, seen @ np.ones(3), seen.sum(axis=-1)):
        assert array.precision == 12
    unasked = x[rows], windows(x, 3, axis=1)
    with server.at_precision(12):
        sums = unasked[0].sum(axis=0), unasked[1] @ np.ones(3)
    assert [array.precision for array in (*unasked, *sums)] == [x.precision, x.precision, 12, 12]


def test_numbers_of_more_than_53_bits_are_as_precise_as_is_asked_for(client, server):
    x = server.load(client.encrypt(["0.1", "0.2", "0.7", "0.4"], precision=90))
    seen = windows(x, 3)
    for third in (
        seen.mean(axis=-1),
        (seen * np.full(3, Fraction(1, 3))).sum(axis=-1),
        seen.sum(axis=-1) / 3,
    ):
        first = client.decrypt(third, dtype=Decimal)[0]
        assert abs(first * 3 - 1) < Decimal("1e-24")


def test_errors_are_raised_where_elements_are_picked_or_summed(client, secret, whole):
    x = secret(plain((6, 8)))
    seen = windows(x, (2, 3))
    with pytest.raises(EncodeError):
        seen * np.array([1.0, np.nan, 2.0])
    with pytest.raises(hippocrene.ShapeError):
        seen @ np.ones(4)
    few_keys = hippocrene.Server(client.evaluation_keys(rotations=[]))
    lacking = windows(few_keys.load(client.encrypt(plain((6, 8)))), (2, 3))
    with pytest.raises(MissingKeyError):
        lacking.sum(axis=(2, 3))
    spent = x
    while spent.capacity_bits > 30:
        spent = spent * spent
    with pytest.raises(CapacityError, match=r"^indexing needs "):
        spent[[1, 4, 2, 0], [0, 5, 3, 7]]
    with pytest.raises(CapacityError, match=r"sliding_window_view needs "):
        windows(spent, (2, 3))
    owner, computes = whole
    integral = computes.load(owner.encrypt(np.arange(40).reshape(5, 8)))
    for _ in range(3):
        integral = integral * integral
    integral = integral * np.full((5, 8), 3)
    with pytest.raises(BudgetError, match=r"sliding_window_view needs "):
        windows(integral, (2, 3))


VIEWS = [
    lambda x: windows(x, 5),
    lambda x: windows(x, 5)[::3, 1:],
    lambda x: windows(x, 5) * plain(5),
    lambda x: x[[30, 2, 2, 11]],
    lambda x: x[[3, 1, 50]] * plain(3),
]


@pytest.mark.parametrize("view", VIEWS)
def test_views_state_what_they_have_when_they_are_moved(client, secret, view):
    x = np.random.default_rng(2).uniform(-1e6, 1e6, 60)
    encrypted = secret(x)
    seen = view(encrypted)
    stated = seen.precision_bits, seen.capacity_bits
    assert "picked" in repr(seen)
    moved = seen._to_be_read()
    assert stated == pytest.approx((moved.precision_bits, moved.capacity_bits), abs=0.01)
    assert stated[0] < encrypted.precision_bits - 5
    assert stated[1] < encrypted.capacity_bits - 20
    # Eight standard deviations are exceeded with a probability of 2^-50.
    np.testing.assert_allclose(client.decrypt(seen), view(x), rtol=0, atol=2.0 ** (3 - stated[0]))


def test_views_of_integers_state_what_they_have_when_they_are_moved(whole):
    owner, computes = whole
    seen = windows(computes.load(owner.encrypt(np.arange(40).reshape(5, 8))), 3, axis=1)
    stated = seen.budget_bits
    assert stated == pytest.approx(seen._to_be_read().budget_bits, abs=0.01)


def test_what_is_said_of_picked_elements_takes_no_keys(client, whole):
    x = hippocrene.Server(client.evaluation_keys(rotations=[])).load(client.encrypt(plain((30, 7))))
    picked, seen = x[[3, 9, 1]], windows(x, (2, 3))
    kernel = np.array([0.5, -2.0, 1.0])
    products = seen * kernel
    assert [one.capacity_bits for one in (picked, seen)] == [x.capacity_bits] * 2
    assert products.bound == 2 * x.bound
    assert products.capacity_bits == (x * 0.3).capacity_bits - 1
    assert x.precision_bits > products.precision_bits > x.precision_bits - 6
    owner, computes = whole
    integral = computes.load(owner.encrypt(np.arange(40).reshape(5, 8)))
    assert windows(integral, 3, axis=1).budget_bits < integral.budget_bits
    assert (windows(integral, 3, axis=1) * [1, 5, 3]).budget_bits < integral.budget_bits
    with pytest.raises(MissingKeyError):
        picked + 1


def test_weights_may_be_overwritten_before_they_are_needed(client, secret):
    x, weights = plain((6, 8)), np.array([1.0, 2.0, 3.0])
    products = [secret(x)[0, [3, 1, 2]] * weights, windows(secret(x[0]), 3) * weights]
    weights[:] = 100
    np.testing.assert_allclose(client.decrypt(products[0]), x[0, [3, 1, 2]] * [1, 2, 3], atol=1e-4)
    np.testing.assert_allclose(
        client.decrypt(products[1].sum(axis=1)), windows(x[0], 3) @ [1, 2, 3], atol=1e-4
    )


def test_sums_of_picked_elements_are_bounded_by_what_is_summed(secret):
    x = secret(plain((30, 9)), bound=1)
    rows = [7, 3, 12, 28, 1]
    assert x[rows].sum(axis=1).bound <= 16
    assert 9 <= x.reshape(9, 30).sum(axis=0).bound <= 18.1
    assert windows(x, (3, 3)).sum(axis=(2, 3)).bound <= 9.1
    assert (windows(x, (3, 3)) * 0.5).sum(axis=(2, 3)).bound <= 9.1
    assert (windows(x, 3, axis=1) @ [0.5, -1, 0.25]).bound <= 1.76


def test_complex_numbers_take_no_more_multiplications_than_real_ones(secret):
    x, weights = secret(plain((8, 27))), plain((72, 3))
    real, both = (x.reshape(3, 72) @ w for w in (weights, weights * (1 + 1j)))
    assert both.capacity_bits > real.capacity_bits - 4
    seen = windows(x, (2, 2))
    real, both = (np.einsum("ijkl,kl->ij", seen, plain((2, 2)) * factor) for factor in (1, 1j))
    assert both.capacity_bits > real.capacity_bits - 4


def test_sums_of_picked_elements_stand_as_these_do(secret):
    picked = secret(plain((30, 9)))[[7, 3, 12, 28, 1]]
    met = picked.sum(axis=1) * picked[:, 0]
    assert met.capacity_bits > (picked * picked).capacity_bits - 6
    # Windows that move nothing use no capacity.
    x = secret(plain((30, 9)))
    for seen in (windows(x, 9, axis=1).sum(axis=-1), windows(x, 1, axis=0).sum(axis=-1)):
        assert seen.capacity_bits > x.capacity_bits - 6


def test_errors_of_sums_name_what_was_called(secret):
    x = secret(plain((6, 8)))
    for product in (
        lambda: windows(x[0], 3)[0, 0] @ [1.0, 2.0],
        lambda: np.ones((2, 2)) @ windows(x[0], 3)[0, 0],
    ):
        with pytest.raises(hippocrene.ShapeError):
            product()
    with pytest.raises(EncodeError, match=r"^matmul: nan at position 1: only finite"):
        x[0, [3, 1, 2]] @ [1, np.nan, 2]
    with pytest.raises(EncodeError, match=r"^matmul: inf at position 2: only finite"):
        [0, 1, np.inf] @ x[0, [3, 1, 2]]


def test_means_are_as_precise_as_what_they_are_taken_from(client, secret):
    x = plain((100, 7))
    kept = x[:, 0] > 0
    picked = secret(x)[kept]
    normalised = picked - picked.mean(axis=0)
    assert normalised.precision_bits > picked.precision_bits - 2
    np.testing.assert_allclose(
        client.decrypt(normalised), x[kept] - x[kept].mean(axis=0), atol=1e-4
    )
    # Windows leave nothing between their sums: a mean of them is one product.
    seen = windows(secret(x[:, 0]), 5)
    assert seen.mean(axis=1).capacity_bits > seen.sum(axis=1).capacity_bits - 8


def test_tensordot_of_more_axes_than_there_are_letters(secret, near):
    x, weights = plain((2, 3)), plain((2, 3))
    many = secret(x).reshape(*(1,) * 50, 2, 3)
    near(np.tensordot(many, weights, 2).reshape(1), [np.tensordot(x, weights, 2)])


def test_what_is_said_to_have_a_budget_has_one(whole):
    client, server = whole
    plain, signs = np.array([3, -1, 2]), np.array([1, -1, 1])
    x = server.load(client.encrypt(plain))
    # Until one product is left, and not two.
    while x.budget_bits > 44:
        x, plain = x * signs, plain * signs
    factors = np.arange(1, 10).reshape(3, 3)
    for pick in [
        lambda x: x[[2, 0, 1]] * factors,
        lambda x: np.outer(factors[0], x),
        lambda x: np.repeat(x, 2) * np.arange(6),
        lambda x: windows(x, 2) * factors[0, :2],
    ]:
        product = pick(x)
        assert product.budget_bits > 0
        np.testing.assert_array_equal(client.decrypt(product, signed=True), pick(plain))


def test_who_reads_what_is_picked_changes_nothing_of_what_is_computed_with_it():
    client = hippocrene.Client.generate("n13")
    server = hippocrene.Server(client.evaluation_keys())
    x, mask = plain((6, 8)), np.array([True, False, True, True])
    for read in (str, client.decrypt, lambda y: client.decrypt(y.copy()), lambda y: y.to_bytes()):
        secret = server.load(client.encrypt(x))
        y = (secret * secret)[[3, 0, 5, 2], 1]
        read(y)
        # Moved and masked at once: one product is left.
        got = client.decrypt(np.where(mask, y, 0))
        np.testing.assert_allclose(got, np.where(mask, x[[3, 0, 5, 2], 1] ** 2, 0), atol=1e-4)


def test_errors_of_budgets_are_raised_where_elements_are_picked(whole):
    client, server = whole
    x = server.load(client.encrypt(np.random.default_rng(0).integers(-3, 4, (50, 5))))
    y = x.cumsum(1)
    z = y @ y.T
    with pytest.raises(BudgetError, match="reshape needs"):
        z.reshape(20, 25, -1)


@pytest.mark.parametrize(("scheme", "kind"), [("ckks", CapacityError), ("bfv", BudgetError)])
def test_windows_that_could_not_be_read_any_more_are_refused_at_once(scheme, kind):
    """Every returned array can be decrypted. The operation that would leave too little capacity fails."""
    client = hippocrene.Client.generate(
        "n13", scheme=scheme, precision=20 if scheme == "ckks" else None
    )
    server = hippocrene.Server(client.evaluation_keys())
    x = np.arange(20) % 2
    squares = [windows(server.load(client.encrypt(x)), 5)]

    def square():
        for _ in range(9):
            squares.append(squares[-1] * squares[-1])

    with pytest.raises(kind, match="sliding_window_view"):
        square()
    assert len(squares) > 2
    np.testing.assert_allclose(client.decrypt(squares[-1]), windows(x, 5), atol=1e-3)


def test_compute_moves_the_elements_of_a_view_and_leaves_other_arrays(client, secret):
    x = np.random.default_rng(5).uniform(-1, 1, 60)
    encrypted = secret(x)
    assert encrypted.compute() is encrypted
    view = encrypted[[30, 2, 2, 11]]
    moved = view.compute()
    assert "picked" in repr(view)
    assert "picked" not in repr(moved)
    assert type(moved) is hippocrene.NumberArray
    stated, found = (
        (array.precision_bits, array.capacity_bits, array.bound) for array in (view, moved)
    )
    assert stated == pytest.approx(found, abs=0.01)
    np.testing.assert_allclose(client.decrypt(moved), x[[30, 2, 2, 11]], atol=1e-4)


def test_properties_of_a_view_compute_nothing():
    def described(x):
        view = windows(x, 5) * plain(5)
        assert view.shape == (36, 5)
        assert repr(view) == repr(view)
        assert view.bound >= view.interval[1]
        assert view.precision == x.precision
        assert view.capacity_bits < x.capacity_bits
        return x

    counts = [
        hippocrene.simulate(program, plain(40), preset="n13").operations
        for program in (described, lambda x: x)
    ]
    assert counts[0] == counts[1]
