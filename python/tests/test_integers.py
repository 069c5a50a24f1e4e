from __future__ import annotations

import operator
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hippocrene
from hippocrene import EncryptedArray

T = 65537
few = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
values = st.integers(-(2**62), 2**62)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, max_side=6)


def arrays(shape=shapes):
    return hnp.arrays(np.int64, shape, elements=values)


def modulo(array) -> np.ndarray:
    """The array modulo T: of Python's integers, which do not overflow."""
    array = np.asarray(array, dtype=object)
    return np.array([int(one) % T for one in array.flat], dtype=np.int64).reshape(array.shape)


def whole(array) -> np.ndarray:
    return np.asarray(array, dtype=object)


@pytest.fixture(scope="module", params=["bgv", "bfv"])
def scheme(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def client(scheme) -> hippocrene.Client:
    return hippocrene.Client.generate("n13", scheme=scheme)


@pytest.fixture(scope="module")
def server(client) -> hippocrene.Server:
    return hippocrene.Server(client.evaluation_keys())


@pytest.fixture
def secret(client, server):
    """Arrays of integers of any size, as residues."""
    return lambda array: server.load(client.encrypt(array, wrap=True))


@pytest.fixture
def equal(client):
    def check(encrypted: EncryptedArray, want) -> None:
        assert isinstance(encrypted, EncryptedArray)
        got = client.decrypt(encrypted)
        assert got.dtype == np.int64
        assert encrypted.shape == np.shape(want)
        np.testing.assert_array_equal(got, modulo(want))

    return check


@few
@given(arrays())
def test_what_was_encrypted_is_decrypted(client, equal, array):
    encrypted = client.encrypt(array, wrap=True)
    equal(encrypted, array)
    assert (encrypted.shape, encrypted.ndim, encrypted.size) == (
        array.shape,
        array.ndim,
        array.size,
    )
    signed = client.decrypt(encrypted, signed=True)
    assert np.all(2 * np.abs(signed) < T)
    np.testing.assert_array_equal(modulo(signed), modulo(array))
    equal(client.public_key().encrypt(array, wrap=True), array)


@few
@given(arrays(), st.data())
def test_element_by_element_as_numpy(secret, equal, x, data):
    y = data.draw(arrays(hnp.broadcastable_shapes(x.shape, max_dims=2, max_side=4)))
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return
    a, b, n = secret(x), secret(y), data.draw(values)
    x, y = whole(x), whole(y)
    equal(a + b, x + y)
    equal(a - b, x - y)
    equal(a * b, x * y)
    equal(-a, -x)
    equal(+a, x)
    equal(a**3, x**3)
    plain = modulo(y)
    equal(a + plain, x + y)
    equal(plain - a, y - x)
    equal(a * plain, x * y)
    equal(a + n, x + n)
    equal(n - a, n - x)
    equal(a * n, x * n)
    equal((a * n + b) * a, (x * n + y) * x)


@few
@given(arrays(hnp.array_shapes(min_dims=1, max_dims=3, max_side=6)), st.data())
def test_sums_and_rolls_as_numpy(secret, equal, x, data):
    a, x = secret(x), whole(x)
    equal(a.sum(), x.sum())
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    equal(a.sum(axis), x.sum(axis))
    equal(a.sum(axis, keepdims=True), x.sum(axis, keepdims=True))
    shift = data.draw(st.integers(-9, 9))
    equal(a.roll(shift), np.roll(x, shift))
    equal(a.roll(shift, axis), np.roll(x, shift, axis))
    equal(a.T, x.T)


@few
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5), st.data())
def test_products_of_matrices_as_numpy(secret, equal, rows, inner, columns, data):
    x, w = data.draw(arrays((rows, inner))), data.draw(arrays((inner, columns)))
    m, v = data.draw(arrays((columns, rows))), data.draw(arrays((inner,)))
    a, b = secret(x), secret(v)
    equal(a @ w, whole(x) @ whole(w))
    equal(m @ a, whole(m) @ whole(x))
    equal(a @ v, whole(x) @ whole(v))
    equal(b @ b, whole(v) @ whole(v))
    equal(a.dot(w), whole(x) @ whole(w))


@pytest.mark.parametrize("shape", [(50, 2, 3), (5000, 2, 3), (9000, 1, 2), (700, 5, 6)])
def test_matrices_that_make_rows_longer(secret, equal, shape):
    rng = np.random.default_rng(0)
    x, w = rng.integers(-9, 9, shape[:2]), rng.integers(-9, 9, shape[1:])
    a = secret(x)
    equal(a @ w, x @ w)
    equal(w.T @ a.T, w.T @ x.T)
    equal((a @ w) * 3 - x @ w, 2 * (x @ w))


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint64, np.int64, bool, object]
)
def test_every_type_of_integers_is_taken(client, secret, equal, dtype):
    x = np.array([0, 1, 100], dtype=dtype)
    equal(client.encrypt(x), x.astype(object))
    equal(secret([1, 2, 3]) * x, whole([1, 2, 3]) * x.astype(object))
    equal(client.encrypt(2**70, wrap=True), 2**70)
    equal(client.encrypt(np.array([2**64 - 1], dtype=np.uint64), wrap=True), [2**64 - 1])
    equal(secret(np.arange(12).reshape(3, 4).T[::2]), np.arange(12).reshape(3, 4).T[::2])


def test_integers_of_any_size_and_kind_mix(client, equal, secret):
    for mixed in (
        [2**63, -1],
        [[2**64 - 1], [-(2**63)]],
        (2**63, True),
        [np.int64(5), 2**70],
        [np.uint8(5), -(2**70)],
        np.array([np.int64(5), np.True_], dtype=object),
    ):
        equal(client.encrypt(mixed, wrap=True), np.array(mixed, dtype=object))
    plain, wide = np.array([1, 2, 3]), np.array([1, 2**64 - 2], dtype=np.uint64)
    x = secret(plain)
    for function in (np.convolve, np.correlate):
        equal(function(x, wide, "full"), function(whole(plain), whole(wide), "full"))
        equal(function(wide, x, "full"), function(whole(wide), whole(plain), "full"))
    mask = [True, False, True]
    equal(np.where(mask, x, 2**80), [1, 2**80, 3])
    equal(np.where(mask, [2**63, -1, 0], x), [2**63, 2, 0])


def test_lists_of_integers_of_any_size_are_operands(equal, secret):
    plain, wide = [[1, 2, 3], [4, 5, 6]], [2**63, -1, 2**64 - 1]
    x, p, w = secret(plain), whole(plain), whole(wide)
    for got, want in (
        (np.inner(x, wide), p @ w),
        (np.inner(wide, x[0]), w @ p[0]),
        (np.outer(wide, x[0]), np.outer(w, p[0])),
        (np.vdot(wide, x[0]), w @ p[0]),
        (np.tensordot(x, wide, 1), p @ w),
        (np.einsum("ij,j->i", x, wide), p @ w),
        (np.correlate(x[0], wide, "full"), np.correlate(p[0], w, "full")),
        (np.append(x, wide), np.append(p, w)),
        (np.polyval(wide, x[0]), w[0] * p[0] ** 2 + w[1] * p[0] + w[2]),
        (np.add.outer(wide, x[0]), np.add.outer(w, p[0])),
        (np.subtract.outer(x[0], wide), np.subtract.outer(p[0], w)),
        (x @ [[[n] for n in wide]], [p @ w[:, None]]),
        ([[wide]] @ x.T, [w[None] @ p.T]),
        (x[0] + range(2**63 - 1, 2**63 + 2), p[0] + whole(range(2**63 - 1, 2**63 + 2))),
    ):
        equal(got, want)
    if hasattr(np, "matvec"):
        equal(np.matvec(x, wide), p @ w)
        equal(np.vecmat(wide, x.T), w @ p.T)


def test_long_vectors_are_correlated(equal, secret, monkeypatch):
    rng = np.random.default_rng(1)
    for limit, length, others in ((1024, 1500, (3,)), (4, 7, (2, 3, 6, 7, 8, 11))):
        monkeypatch.setattr("hippocrene.numpy.products.LONG", limit)
        v = rng.integers(0, T, length)
        x = secret(v)
        for a in (rng.integers(0, T, other) for other in others):
            for mode in ("full", "same", "valid"):
                equal(np.correlate(a, x, mode), np.correlate(whole(a), whole(v), mode))
    with pytest.raises(hippocrene.ArgumentError, match="mode 'half' is none of"):
        np.correlate(a, x, "half")


def test_conditions_pick(equal, secret):
    c, plain = secret([1, 0, 1]), np.array([1, 2, 3])
    equal(np.where(c, secret(plain), secret(-plain)), [1, -2, 3])
    equal(np.where(c, 2**80, secret(plain)), [2**80, 2, 2**80])
    equal(np.where(c, [1, 2, 3], 7), [1, 7, 3])


def test_what_is_not_integers_is_refused_in_words(client, secret):
    encrypted = secret([1, 2, 3])
    for wrong in (0.5, np.array([1.0, 2.0, 3.0]), [1j, 0, 0], "1", [0.5, 2**70]):
        with pytest.raises(TypeError, match="integers"):
            client.encrypt(wrong)
    for wrong in (0.5, np.array([1.0, 2.0, 3.0])):
        for compute in (lambda w: encrypted + w, lambda w: w - encrypted, lambda w: encrypted * w):
            with pytest.raises(TypeError, match="takes integers here, not values of type float64"):
                compute(wrong)
    with pytest.raises(TypeError, match="masked"):
        client.encrypt(np.ma.masked_array([1, 2]))
    with pytest.raises(TypeError, match="takes integers"):
        encrypted @ np.ones(3)
    with pytest.raises(TypeError, match=r"multiply by the inverse, pow\(divisor, -1, 65537\)"):
        encrypted / 2
    for divide in (lambda: encrypted / encrypted, lambda: 1 / encrypted):
        with pytest.raises(TypeError, match=r"encrypted integers cannot be divisors: use x\.apply"):
            divide()
    with pytest.raises(TypeError, match=r"exponents are plain integers from 0 on$"):
        encrypted**0.5
    assert (encrypted == None, encrypted == "a", encrypted != "a") == (False, False, True)  # noqa: E711
    with pytest.raises(TypeError, match="mean"):
        encrypted.mean()
    for name in ("precision", "precision_bits", "capacity_bits"):
        with pytest.raises(AttributeError, match=f"have no {name}"):
            getattr(encrypted, name)
    for name, of_numbers in (
        ("with_precision", lambda: encrypted.with_precision(8)),
        ("with_precision_bits", lambda: encrypted.with_precision_bits(8)),
        ("bootstrap", lambda: encrypted.server.bootstrap(encrypted)),
    ):
        with pytest.raises(hippocrene.UnsupportedError, match=f"^{name} is for encrypted numbers"):
            of_numbers()
    with pytest.raises(TypeError, match="have no precision"):
        client.encrypt([1], precision=2.0)
    with pytest.raises(TypeError, match=r"numpy\.int64"):
        client.decrypt(encrypted, dtype=float)


def test_what_takes_an_order_is_refused_by_name(secret):
    x = secret([1, 2, 3])
    operations = {
        "less": lambda: x < x,
        "greater": lambda: x > 2,
        "abs": lambda: abs(x),
        "sigmoid": lambda: x.sigmoid(),
        "sort": lambda: x.sort(),
        "argmax": lambda: x.argmax(),
        "is_close": lambda: x.is_close(x, tolerance=1),
    }
    for name, operation in operations.items():
        with pytest.raises(
            TypeError,
            match=f"^{name} is for encrypted numbers: integers modulo 65537 have no order",
        ):
            operation()


def test_places_among_edges_are_not_found(secret):
    for found in (
        lambda: np.searchsorted([1, 2], secret([1, 2, 3])),
        lambda: np.digitize(secret([1, 2, 3]), [1, 2]),
    ):
        with pytest.raises(
            TypeError, match="integers modulo a number have no order: find their places"
        ):
            found()


def test_nothing_at_all_is_refused_in_words(client, secret):
    for empty in ([], [[], []], np.zeros((3, 0), dtype=int)):
        with pytest.raises(hippocrene.ShapeError, match="no elements"):
            client.encrypt(empty)
    with pytest.raises(hippocrene.ArgumentError, match="no coefficients"):
        secret([1]).polynomial([])


def test_large_plain_moduli():
    t = 1152921504606830593
    client = hippocrene.Client.generate("n13", scheme="bgv", plain_modulus=t)
    x = hippocrene.Server(client.evaluation_keys(rotations=[])).load(client.encrypt([1, -1, 2**59]))
    assert client.decrypt(x + x).tolist() == [2, t - 2, 2**60 - t]
    assert client.decrypt(x * x).tolist() == [1, 1, 2**118 % t]
    with pytest.raises(hippocrene.ArgumentError, match=f"a function of all {t} integers"):
        x.apply(lambda v: v)


def test_powers_are_those_of_numpy(secret, equal):
    x = whole([0, 1, -2, 60000])
    for n in (0, 1, 2, 7, np.int8(3), 4.0):
        equal(secret(x) ** n, x ** int(n))
    for wrong in (-1, 10**30):
        with pytest.raises(ValueError, match="powers 1, 2, 3"):
            secret(x) ** wrong


def test_encrypted_matrices_times_encrypted_vectors(secret, equal):
    m, v, w = whole(np.arange(12).reshape(3, 4) * 1000), whole([5, -6, 70, 800]), whole([-1, 20, 3])
    equal(secret(m) @ secret(v), m @ v)
    equal(secret(w) @ secret(m), w @ m)
    equal(secret(m).dot(secret(v)), m @ v)
    with pytest.raises(hippocrene.ShapeError, match=r"\(3, 4\) and \(3,\)"):
        secret(m) @ secret(w)
    equal(secret(m) @ secret(m.T), m @ m.T)


def test_clients_say_what_they_compute_on(client, scheme):
    assert (client.scheme, client.plain_modulus, client.slots) == (scheme, T, 8192)
    assert f"scheme='{scheme}', plain_modulus=65537" in repr(client)
    assert hippocrene.Client.generate("n12").scheme == "ckks"
    with pytest.raises(TypeError, match="scheme="):
        hippocrene.Client.generate("n12", plain_modulus=T)
    with pytest.raises(TypeError, match="precision is for numbers"):
        hippocrene.Client.generate("n12", scheme="bgv", precision=20)
    with pytest.raises(hippocrene.ParameterError, match="no scheme 'tfhe'"):
        hippocrene.Client.generate("n12", scheme="tfhe")
    for wrong in (-1, 1, 2**61, 2**200):
        with pytest.raises(hippocrene.ParameterError, match="supported"):
            hippocrene.Client.generate("n12", scheme="bfv", plain_modulus=wrong)
    without = r"^plaintext modulus 1000: it gives no slots .* A prime that is 1 modulo 8192, .* such as 65537\.$"
    with pytest.raises(hippocrene.ParameterError, match=without):
        hippocrene.Client.generate("n12", scheme="bfv", plain_modulus=1000)
    with pytest.raises(hippocrene.ParameterError, match=without):
        hippocrene.simulate(lambda x: x, [1], preset="n12", scheme="bgv", plain_modulus=1000)
    # A prime, but for smaller ring degrees.
    with pytest.raises(hippocrene.ParameterError, match="1 modulo 131072"):
        hippocrene.Client.generate("n16", scheme="bgv", plain_modulus=65537)


@pytest.mark.parametrize("scheme", ["bgv", "bfv"])
def test_the_budget_ends_with_an_error_that_names_the_operation(scheme):
    client = hippocrene.Client.generate("n13", scheme=scheme)
    server = hippocrene.Server(client.evaluation_keys(rotations=[]))
    x = server.load(client.encrypt([3, -2]))
    want, before = whole([3, -2]), np.inf
    while x.budget_bits > 40:
        before, x, want = x.budget_bits, x * x, want * want % T
        np.testing.assert_array_equal(client.decrypt(x), modulo(want))
        assert 0 < x.budget_bits < before
        assert x.budget_bits <= client.noise_budget(x) < x.budget_bits + 20
    assert before < np.inf
    with pytest.raises(hippocrene.BudgetError, match=r"^power needs .* bits of noise budget"):
        x**256
    assert f"budget_bits={x.budget_bits:.1f}" in repr(x)
    assert issubclass(hippocrene.BudgetError, ArithmeticError)


def test_files_and_bytes(client, server, equal, tmp_path):
    x = client.encrypt([[1, 2], [3, 4]])
    x.save(tmp_path / "x.enc")
    read = EncryptedArray.load(tmp_path / "x.enc")
    assert (read.shape, read.plain_modulus, read.server) == ((2, 2), T, None)
    assert read.budget_bits == pytest.approx(x.budget_bits)
    for again in (
        read,
        pickle.loads(pickle.dumps(x)),
        server.load(x.to_bytes()),
        server.load(tmp_path / "x.enc"),
    ):
        equal(again, [[1, 2], [3, 4]])
    read.save(tmp_path / "again.enc")
    assert (tmp_path / "again.enc").read_bytes() == x.to_bytes()
    client.save(tmp_path / "client.key")
    loaded = hippocrene.Client.load(tmp_path / "client.key")
    assert (loaded.scheme, loaded.plain_modulus) == (client.scheme, T)
    np.testing.assert_array_equal(loaded.decrypt(x), [[1, 2], [3, 4]])
    keys = hippocrene.EvaluationKeys.from_bytes(client.evaluation_keys().to_bytes())
    equal(hippocrene.Server(keys).load(x) * 2, [[2, 4], [6, 8]])
    with pytest.raises(hippocrene.FormatError, match="a secret key, not an encrypted array"):
        EncryptedArray.load(tmp_path / "client.key")


def test_numbers_and_integers_do_not_mix(client, secret):
    numbers = hippocrene.Client.generate("n13")
    server = hippocrene.Server(numbers.evaluation_keys(rotations=[]))
    x = server.load(numbers.encrypt([1, 2]))
    assert (x.plain_modulus, x.budget_bits, numbers.plain_modulus) == (None, None, None)
    assert numbers.decrypt(x).dtype == np.float64
    with pytest.raises(TypeError, match="no noise budget"):
        numbers.noise_budget(x)
    with pytest.raises(TypeError, match="use decrypt for integers"):
        client.decrypt_for_sharing(client.encrypt([1, 2]))
    with pytest.raises(
        hippocrene.ArgumentError,
        match=r"^add: one array holds encrypted numbers, the other one integers",
    ):
        secret([1, 2]) + x
    with pytest.raises(hippocrene.KeyMismatchError):
        server.load(client.encrypt([1, 2]))
    with pytest.raises(hippocrene.FormatError, match="which are for numbers and have none"):
        numbers.decrypt(EncryptedArray.from_bytes(client.encrypt([1]).to_bytes()))
    with pytest.raises(TypeError, match="signed"):
        numbers.decrypt(x, signed=True)


def test_equality_and_functions():
    """At a ring degree with room for 17 products one after the other."""
    client = hippocrene.Client.generate("n15", scheme="bgv")
    server = hippocrene.Server(client.evaluation_keys(rotations=[]))
    x = np.array([3, -1, 30000, 0, 3])
    secret = server.load(client.encrypt(x))
    np.testing.assert_array_equal(client.decrypt(secret == 3), [1, 0, 0, 0, 1])
    np.testing.assert_array_equal(client.decrypt(secret != [3, T - 1, 5, 0, 4]), [0, 0, 1, 0, 1])
    np.testing.assert_array_equal(
        client.decrypt(secret == server.load(client.encrypt([0, -1, 0, 0, 3]))), [0, 1, 0, 1, 1]
    )
    np.testing.assert_array_equal(
        client.decrypt(secret.polynomial([1, -2, 0, 5])),
        modulo(1 - 2 * whole(x) + 5 * whole(x) ** 3),
    )
    cubic = np.poly1d([5, 0, -2, 1])
    np.testing.assert_array_equal(client.decrypt(secret.polynomial(cubic)), modulo(cubic(whole(x))))
    np.testing.assert_array_equal(
        client.decrypt(secret.apply(lambda v: v * v + 1)), modulo(whole(x) ** 2 + 1)
    )
    squares = np.arange(T) ** 2
    np.testing.assert_array_equal(client.decrypt(secret.apply(squares)), modulo(whole(x) ** 2))
    for wrong in (lambda v: v[:3], [1, 2, 3]):
        with pytest.raises(hippocrene.ShapeError, match="shape \\(3,\\) for the 65537"):
            secret.apply(wrong)
    assert (client.decrypt(secret.apply(lambda v: 1 if v >= 0 else 0)) == 1).all()
    assert (client.decrypt(secret.apply(lambda _: 7)) == 7).all()
    # Arrays of 64 bits would overflow, or be taken as a whole.
    for function in (
        lambda v: v**7,
        lambda v: v * 2**70,
        lambda v: v.bit_length() * 0 + v,
        lambda v: int(str(v)) + 1,
    ):
        np.testing.assert_array_equal(
            client.decrypt(secret.apply(function)), [function(int(v)) % T for v in x % T]
        )
    assert (client.decrypt(secret.apply(lambda v: int(type(v) is int))) == 1).all()
    with pytest.raises(TypeError, match="integers"):
        secret.apply(np.sqrt)
    with pytest.raises(TypeError, match="integers"):
        secret.polynomial([0.5])
    assert (
        client.decrypt(secret.polynomial(np.polynomial.Polynomial([1, 2])))
        == client.decrypt(2 * secret + 1)
    ).all()
    with pytest.raises(TypeError, match="a Polynomial has doubles"):
        secret.polynomial(np.polynomial.Polynomial([0.5, 2]))


def test_equality_takes_budget(secret):
    with pytest.raises(hippocrene.BudgetError, match=r"^== needs"):
        secret([1, 2]) == 1  # noqa: B015


def test_errors_name_what_was_called():
    """On an array whose budget is used up."""
    client = hippocrene.Client.generate("n12", scheme="bgv")
    server = hippocrene.Server(client.evaluation_keys())
    x = server.load(client.encrypt(np.arange(12).reshape(3, 4) + 1))
    while True:
        try:
            x = x * x
        except hippocrene.BudgetError:
            break
    # Use up the rest of the budget by one or two plain factors.
    while x.budget_bits > 23:
        x = x * np.full(x.shape, 12345)
    w = np.arange(8).reshape(4, 2) + 30000
    v = x[0]
    named = {
        "multiply": lambda: x * x,
        "power": lambda: x**2,
        "==": lambda: x == 3,
        "!=": lambda: x != x,
        "indexing": lambda: x[:, [2, 0, 1]],
        "take": lambda: x.take([2, 0, 3], 1),
        "reshape": lambda: x.reshape(2, 6),
        "repeat": lambda: x.repeat(2, 1),
        "roll": lambda: x.roll((1, 1), (0, 1)),
        "numpy.flip": lambda: np.flip(x, 1),
        "numpy.concatenate": lambda: np.concatenate([x, x], axis=1),
        "matrix product": lambda: x @ w,
        "dot product": lambda: v @ v,
        "polynomial": lambda: x.polynomial([1, 2, 3]),
        "apply": lambda: x.apply(lambda v: v // 2),
    }
    for name, compute in named.items():
        with pytest.raises(hippocrene.BudgetError) as caught:
            compute()
        assert str(caught.value).startswith(f"{name} needs "), (name, str(caught.value))


def test_sums_of_products(server, secret, equal):
    x, y, z = (whole(np.arange(20).reshape(4, 5) * step - 31) for step in (3, 1000, 65000))
    a, b, c = secret(x), secret(y), secret(z)
    equal(server.sum_of_products([(a, b), (b, c), (c, c)]), x * y + y * z + z * z)
    equal(server.sum_of_products((array, array) for array in [a]), x * x)
    row = secret(whole([1, 2, 3, 4, 5]))
    equal(server.sum_of_products([(a, row), (b, c)]), x * whole([1, 2, 3, 4, 5]) + y * z)
    with pytest.raises(hippocrene.ShapeError):
        server.sum_of_products([(a, row), (row, row)])
    with pytest.raises(hippocrene.ArgumentError, match="no products"):
        server.sum_of_products([])
    with pytest.raises(TypeError, match="pairs of EncryptedArrays"):
        server.sum_of_products([(a, x)])
    for pair, message in (
        ((a,), r"not \['IntegerArray'\]"),
        (a, "not IntegerArray"),
        (None, "not NoneType"),
    ):
        with pytest.raises(TypeError, match=message):
            server.sum_of_products([pair])


def test_rows_of_unequal_length_are_no_matrices(secret):
    x, ragged = secret([[1, 2], [3, 4]]), [[1, 2], [3]]
    functions = [lambda: x @ ragged, lambda: ragged @ x, lambda: np.add.outer(x, ragged)]
    for name in ("vecdot", "matvec"):
        if hasattr(np, name):
            functions.append(lambda name=name: getattr(np, name)(x, ragged))
    for function in functions:
        with pytest.raises(hippocrene.ShapeError, match="rows differ in length"):
            function()


def test_inner_products_of_long_vectors(client, secret, equal):
    """The vectors span several ciphertexts, and the last one is not full."""
    x = whole(np.arange(2 * client.slots + 5) % 1000)
    y = whole(np.arange(2 * client.slots + 5) * 7)
    equal(secret(x) @ secret(y), (x * y).sum())


@pytest.mark.parametrize(
    "other", [1.0, np.array([1.5, 2.0]), np.array(["a", "b"]), [1j, 2]], ids=repr
)
def test_comparisons_with_what_is_no_integer_name_themselves(secret, other):
    x = secret([1, 2])
    for name, compute in (("==", operator.eq), ("!=", operator.ne)):
        for left, right in ((x, other), (other, x)):
            with pytest.raises(TypeError, match=f"^{name} takes integers here"):
                compute(left, right)
        with pytest.raises(hippocrene.ShapeError, match=rf"^{name}: shapes \(2,\) and \(3,\)"):
            compute(x, [1, 2, 3])


@pytest.mark.parametrize("dtype", [np.ones(3), [1, 2], np.int32, float, "text", ...], ids=repr)
def test_types_that_integers_are_not_decrypted_to(client, dtype):
    with pytest.raises(TypeError, match=r"only be decrypted to numpy\.int64"):
        client.decrypt(client.encrypt([1, 2]), dtype=dtype)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([1, None], r"type NoneType \(position 1\)"),
        (np.array([[1, 2], [3, "x"]], object), r"type str \(row 1, column 1\)"),
    ],
)
def test_what_is_no_integer_is_named_with_its_place(client, values, what):
    with pytest.raises(TypeError, match=what):
        client.encrypt(values)


def test_plain_moduli_of_any_size():
    for preset, degree in (("n12", 2**12), ("n14", 2**14)):
        for least in (0, 65_537, 65_538, 2**40 + 1):
            modulus = hippocrene.plain_modulus(preset, least=least)
            assert modulus >= least
            assert modulus % (2 * degree) == 1
    t = hippocrene.plain_modulus("n13", least=10**9)
    client = hippocrene.Client.generate("n13", scheme="bgv", plain_modulus=t)
    server = hippocrene.Server(client.evaluation_keys())
    total = server.load(client.encrypt([400_000_000, -1, 90_000_000])).sum()
    assert client.decrypt(total, signed=True) == 489_999_999
    # A modulus of ciphertexts left next to nothing of the budget, without a word.
    unit = 35_184_371_138_561
    fitting = hippocrene.plain_modulus("n14", least=unit)
    assert fitting > unit
    with pytest.raises(
        hippocrene.ParameterError,
        match=rf"a unit of the ciphertext modulus.* possible one is {fitting}.$",
    ):
        hippocrene.Client.generate("n14", scheme="bfv", plain_modulus=unit)
    with pytest.raises(hippocrene.ArgumentError, match=r"from -1 on: 0 to 2\*\*61 - 1"):
        hippocrene.plain_modulus("n14", least=-1)
    with pytest.raises(hippocrene.ParameterError, match='there is none named "n9"'):
        hippocrene.plain_modulus("n9", least=1)
    with pytest.raises(
        hippocrene.ParameterError, match="no scheme 'CKKS': ckks is for numbers, bgv and bfv"
    ):
        hippocrene.Client.generate("n13", scheme="CKKS")


def test_missing_integers_are_named_where_they_stand():
    client = hippocrene.Client.generate("n12", scheme="bgv")
    floats = np.arange(12.0).reshape(3, 4)
    floats[1, 2] = np.nan
    for values, at in (
        ([[1, 2], [3, float("nan")]], "NaN, row 1, column 1"),
        (floats, "NaN, row 1, column 2"),
        (floats.astype(object), "NaN, row 1, column 2"),
        (float("nan"), "NaN"),
    ):
        with pytest.raises(
            TypeError,
            match=rf"a value is missing \({at}\): replace it, for example by 0, and also encrypt a mask",
        ):
            client.encrypt(values)
    with pytest.raises(TypeError, match="not values of type float64"):
        client.encrypt(floats[0])


def test_integers_have_no_precision(server):
    with (
        pytest.raises(hippocrene.ArgumentError, match="those of integers, which are exact"),
        server.at_precision(8),
    ):
        raise AssertionError


def test_rows_are_exchanged_by_a_key_that_is_named(client):
    server = hippocrene.Server(client.evaluation_keys(rotations=[1]))
    x = server.load(client.encrypt(np.arange(server.ring_degree)))
    with pytest.raises(
        hippocrene.MissingKeyError,
        match=r"the conjugation \(conjugation=True\), which comparisons need, and moves between the",
    ):
        np.roll(x, -server.ring_degree // 2)
    exchanging = hippocrene.Server(client.evaluation_keys(rotations=[], conjugation=True))
    rolled = np.roll(exchanging.load(x.to_bytes()), server.ring_degree // 2)
    assert client.decrypt(rolled)[0] == server.ring_degree // 2
