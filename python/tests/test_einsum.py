"""Einstein's sums of encrypted and plain arrays beside numpy's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hippocrene
from hippocrene import EncryptedArray, ShapeError

SIZES = {"i": 2, "j": 3, "k": 4, "l": 2}


few = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def of_shape(shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    return (np.arange(count) * 7 % 11 / 8.0 - 0.5).reshape(shape)


def operand(letters: str) -> np.ndarray:
    return of_shape(tuple(SIZES[letter] for letter in letters))


def check(client, got, want) -> None:
    assert isinstance(got, EncryptedArray)
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(client.decrypt(got), want, atol=5e-4)


ONE = [
    "ij->ji",
    "ij",
    "ji",
    "ii->i",
    "ii->",
    "ii",
    "ij->i",
    "ij->j",
    "ij->",
    "ijk->kj",
    "iij->ji",
    "iii->i",
    "i->i",
]
TWO = [
    "ij,j->i",
    "ij,jk->ik",
    "i,i->",
    "i,i",
    "i,ij->j",
    "i,j->ij",
    "i,j->",
    "ij,ij->i",
    "ij,ij->ji",
    "ij,ji->",
    "ij,kj->ik",
    "ij,jk->ki",
    "ijk,k->ij",
    "ijk,kj->i",
    "lij,ljk->lik",
    "ii,ij->j",
    ",ij->ji",
    "ij,kl->ljki",
]


@pytest.mark.parametrize("subscripts", ONE)
def test_one_operand(client, secret, subscripts):
    x = operand(subscripts.partition("->")[0])
    check(client, np.einsum(subscripts, secret(x)), np.einsum(subscripts, x))


@pytest.mark.parametrize("subscripts", TWO)
def test_two_operands_of_which_one_or_both_are_encrypted(client, secret, subscripts):
    x, y = (operand(letters) for letters in subscripts.partition("->")[0].split(","))
    want = np.einsum(subscripts, x, y)
    check(client, np.einsum(subscripts, secret(x), y), want)
    check(client, np.einsum(subscripts, x, secret(y)), want)
    check(client, np.einsum(subscripts, secret(x), secret(y), optimize=True), want)


@few
@given(data=st.data())
def test_subscripts_that_nobody_thought_of(client, secret, data):
    left, right = (data.draw(st.text("ijk", min_size=1, max_size=3)) for _ in range(2))
    output = "".join(data.draw(st.lists(st.sampled_from(sorted(set(left + right))), unique=True)))
    subscripts = f"{left},{right}->{output}"
    x, y = operand(left), operand(right)
    check(client, np.einsum(subscripts, secret(x), y.tolist()), np.einsum(subscripts, x, y))


# Sums of products of plain operands among themselves: all axes summed away, operands without axes,
# and others.
AMONG_PLAIN = [
    "i,j->j",
    "i,i,j->j",
    ",,j->j",
    "i,k,j->",
    "ii,j->j",
    "ij,jk,k->i",
    "ki,j->j",
    "i,,ij,j->j",
]
LARGE = 2305843009211662337  # a plaintext modulus of 61 bits


def exactly(array) -> np.ndarray:
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array))


def of_objects(subscripts: str, *arrays: np.ndarray) -> np.ndarray:
    """Return the result of numpy with Python's integers or fractions.

    With `out`, sums over all axes stay arrays.
    """
    output = subscripts.partition("->")[2]
    out = np.empty([SIZES[letter] for letter in output], dtype=object)
    return np.einsum(subscripts, *(np.asarray(x).astype(object) for x in arrays), out=out)


@pytest.fixture(scope="module")
def integers() -> tuple[hippocrene.Client, hippocrene.Server]:
    client = hippocrene.Client.generate("n14", scheme="bgv", plain_modulus=LARGE)
    return client, hippocrene.Server(client.evaluation_keys())


def check_integers(integers, subscripts: str) -> None:
    """Everything but the last operand is plain, and near the ends of the range."""
    client, server = integers
    rng = np.random.default_rng(3)
    terms = subscripts.partition("->")[0].split(",")
    arrays = [
        rng.integers(-5, 5, operand(term).shape) + LARGE // 2 * rng.choice([-1, 1])
        for term in terms
    ]
    got = client.decrypt(
        np.einsum(subscripts, *arrays[:-1], server.load(client.encrypt(arrays[-1], wrap=True)))
    )
    want = of_objects(subscripts, *arrays)
    assert np.shape(got) == want.shape
    assert all(
        (int(a) - int(b)) % LARGE == 0 for a, b in zip(np.ravel(got), want.flat, strict=True)
    )


def check_precise(server, client, subscripts: str) -> None:
    """Everything but the last operand is plain, and more is asked for than doubles have."""
    terms = subscripts.partition("->")[0].split(",")
    arrays = [operand(term) + 0.1 for term in terms]
    x = server.load(client.encrypt(arrays[-1], precision=60))
    got = np.einsum(subscripts, *arrays[:-1], x)
    want = of_objects(subscripts, *(exactly(array) for array in arrays))
    values = client.decrypt(got, dtype=lambda parts: Fraction(parts[0]) * Fraction(2) ** parts[1])
    assert got.precision_bits > 50
    assert np.shape(values) == want.shape
    assert (
        max(map(abs, np.ravel(np.asarray(values, dtype=object) - want)))
        < 8 * 2**-got.precision_bits
    )


@pytest.mark.parametrize("subscripts", AMONG_PLAIN)
def test_plain_operands_are_computed_with_exactly_where_results_are(
    integers, server, client, subscripts
):
    check_integers(integers, subscripts)
    check_precise(server, client, subscripts)


@few
@given(data=st.data())
def test_sums_of_many_plain_operands_that_nobody_thought_of(integers, server, client, data):
    terms = data.draw(st.lists(st.text("ijk", max_size=2), min_size=2, max_size=4))
    output = "".join(data.draw(st.lists(st.sampled_from("ijk"), unique=True)))
    output = "".join(letter for letter in output if letter in "".join(terms))
    subscripts = f"{','.join(terms)}->{output}"
    check_integers(integers, subscripts)
    check_precise(server, client, subscripts)


def test_axes_of_length_one_ellipses_and_more_operands(client, secret):
    row, column, cube = of_shape((1, 3)), of_shape((4, 1)), of_shape((2, 4, 3))
    for subscripts, arrays in [
        ("ij,ij->ij", [row, of_shape((4, 3))]),
        ("ij,ij->i", [column, of_shape((4, 3))]),
        ("...j,j->...", [cube, row[0]]),
        ("...ij->...ji", [cube]),
        ("i...,i...", [cube, of_shape((2, 1, 3))]),
        (" ... , ... ", [cube, row]),
        ("ij,jk,kl->il", [of_shape((2, 3)), of_shape((3, 4)), of_shape((4, 2))]),
        ("i,i,i->i", [row[0], row[0], row[0]]),
    ]:
        want = np.einsum(subscripts, *arrays)
        for encrypted in range(len(arrays)):
            mixed = [secret(x) if i == encrypted else x for i, x in enumerate(arrays)]
            check(client, np.einsum(subscripts, *mixed), want)
    frame = pandas.DataFrame(of_shape((3, 2)))
    check(client, np.einsum("ij,jk->ik", row, secret(of_shape((3, 2)))), row @ frame.to_numpy())
    check(client, np.einsum("ij,jk", secret(row), frame), row @ frame.to_numpy())


def test_integers_are_exact_and_complex_numbers_are_complex():
    client = hippocrene.Client.generate("n13", scheme="bgv", plain_modulus=65537)
    server = hippocrene.Server(client.evaluation_keys())
    x, y = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    encrypted = server.load(client.encrypt(x))
    assert client.decrypt(np.einsum("ij,jk->ki", encrypted, y)).tolist() == (x @ y).T.tolist()
    assert client.decrypt(np.einsum("ij,ij->", encrypted, encrypted)) == (x * x).sum()


def test_a_sum_takes_as_much_as_the_product_that_it_is(secret):
    x, y = secret(of_shape((4, 4))), secret(of_shape((4, 4)))
    assert np.einsum("ij,jk->ik", x, y).capacity_bits == (x @ y).capacity_bits
    assert np.einsum("ij,ij->i", x, y).capacity_bits == (x * y).sum(axis=1).capacity_bits
    assert np.einsum("ij->ji", x).capacity_bits == x.capacity_bits


@pytest.mark.parametrize(
    ("subscripts", "shapes", "message"),
    [
        ("ij,j->i", [(2, 3)], r"'ij,j->i' is of 2 operands, there are 1"),
        ("ij->i", [(3,)], r"'ij' in 'ij->i' does not name the axes of shape \(3,\)"),
        ("i->i", [(2, 3)], r"'i' in 'i->i' does not name the axes of shape \(2, 3\)"),
        ("i1->i", [(2, 3)], "'i1' in 'i1->i' does not name"),
        ("ij->k", [(2, 3)], "'k' in 'ij->k' does not name axes of the operands"),
        ("ij->ii", [(2, 3)], "'ii' in 'ij->ii' does not name axes of the operands, each once"),
        ("ij,jk->ik", [(2, 3), (2, 3)], "'j' in 'ij,jk->ik' is of lengths 3 and 2"),
        ("ii->i", [(2, 3)], "'i' in 'ii->i' is of lengths 2 and 3"),
        ("jij->j", [(1, 2, 3)], "'j' in 'jij->j' is of lengths 1 and 3"),
        ("ii->", [(3, 1)], "'i' in 'ii->' is of lengths 3 and 1"),
        ("...,...", [(2,), (3,)], r"'\.\.\.' in '\.\.\.,\.\.\.' is of lengths 2 and 3"),
        ("...->", [(2,)], r"'' in '\.\.\.->' lacks the axes of the ellipsis"),
    ],
)
def test_subscripts_that_make_no_sense(secret, subscripts, shapes, message):
    with pytest.raises(ShapeError, match=f"einsum: {message}"):
        np.einsum(subscripts, *(secret(of_shape(shape)) for shape in shapes))


NARROW = [
    ("i,i,i->i", (np.full(3, 100, np.int8), np.full(3, 100, np.int8))),
    ("ij,jk,k->i", (np.ones((3, 3), bool), np.ones((3, 3), bool))),
    ("i,i,i->i", (np.full(3, 2**40), np.full(3, 2**40))),
    ("ij,i->i", (np.linspace(0, 1, 300, dtype=np.float16).reshape(3, 100),)),
    ("ji,i->i", (np.full((100, 3), 1000, np.float16),)),
]


@pytest.mark.parametrize(("subscripts", "plain"), NARROW)
def test_plain_operands_are_computed_with_in_the_type_that_all_have_in_common(
    client, secret, subscripts, plain
):
    values = np.array([0.5, -1.0, 2.0])
    want = np.einsum(subscripts, *(x.astype(np.float64) for x in plain), values)
    got = np.einsum(subscripts, *plain, secret(values))
    np.testing.assert_allclose(client.decrypt(got), want, rtol=1e-4, atol=1e-3)


def test_plain_operands_of_precise_ones_are_multiplied_exactly(server, client):
    rng = np.random.default_rng(7)
    (w, v), m, values = (
        rng.uniform(-1, 1, (2, 3)),
        rng.uniform(-1, 1, (3, 3)),
        np.array([0.5, -0.25, 1.0]),
    )
    x = server.load(client.encrypt(values, precision=60))
    products = [
        (np.einsum("j,j,j->j", w, v, x), exactly(w) * exactly(v) * exactly(values)),
        (np.linalg.multi_dot([m, m, x]), exactly(m) @ (exactly(m) @ exactly(values))),
    ]
    for got, want in products:
        bits = got.precision_bits
        assert bits > 55
        parts = client.decrypt(
            got, dtype=lambda parts: Fraction(parts[0]) * Fraction(2) ** parts[1]
        )
        assert max(abs(parts - want)) < 8 * 2**-bits


@pytest.mark.parametrize("plain", [np.array(["1", "2", "3"]), np.array([None] * 3)])
def test_several_plain_operands_that_are_no_numbers_are_named(secret, plain):
    with pytest.raises(TypeError, match="einsum takes numbers"):
        np.einsum("i,i,i->", plain, np.ones(3), secret(np.ones(3)))


def test_narrow_matrices_of_integers_are_multiplied_modulo_the_plaintext_modulus():
    client = hippocrene.Client.generate("n13", scheme="bgv", plain_modulus=65537)
    server = hippocrene.Server(client.evaluation_keys())
    matrix, values = np.full((2, 2), 100, np.int8), np.array([1, 2])
    got = np.linalg.multi_dot([matrix, matrix, server.load(client.encrypt(values))])
    wide = matrix.astype(np.int64)
    assert not np.any((client.decrypt(got) - wide @ wide @ values) % 65537)


def test_narrow_matrices_are_multiplied_as_doubles(client, secret):
    values = np.array([0.5, -1.0, 2.0])
    for matrix in (np.ones((3, 3), bool), np.full((3, 3), 100, np.int8)):
        got = np.linalg.multi_dot([matrix, matrix, secret(values)])
        wide = matrix.astype(np.float64)
        np.testing.assert_allclose(client.decrypt(got), wide @ wide @ values, rtol=1e-4, atol=1e-3)


def test_plain_operands_are_summed_exactly_along_axes_of_length_one(integers, client, secret):
    of_integers, server = integers
    plain = [LARGE - 1, LARGE - 2, LARGE - 3] * 7
    got = of_integers.decrypt(np.einsum("i,i->", server.load(of_integers.encrypt([1])), plain))
    assert (int(got) + 42) % LARGE == 0
    halves = np.full(3, 30000, np.float16)
    assert abs(client.decrypt(np.einsum("i,i->", secret(np.ones(1)), halves)) - 90000) < 1


def test_products_of_complex_plain_operands_are_those_of_doubles(client, server):
    x = server.load(client.encrypt([0.5, -0.25], precision=60))
    turns = np.exp([0.1j, 0.2j])
    assert np.einsum("i,i->i", turns, x).precision_bits > 57
    assert np.einsum("i,i,i->i", turns, turns, x).precision_bits < 54


def test_long_sums_of_plain_operands_are_as_precise_as_they_say(client, server):
    # Sums grow, and vanish in the end.
    length = 3000
    up = np.random.default_rng(5).uniform(0, 1, (length // 2, 1))
    rows, columns = np.concatenate([up, -up]).T, np.concatenate([up, up[::-1] * 0.75])
    x = server.load(client.encrypt([0.5], precision=46))
    for got, want in (
        (np.einsum("ji,i->i", rows.T, x), exactly(rows).sum() / 2),
        (np.einsum("ij,jk,k->i", rows, columns, x), (exactly(rows) @ exactly(columns))[0, 0] / 2),
        (np.linalg.multi_dot([rows, columns, x]), (exactly(rows) @ exactly(columns))[0, 0] / 2),
    ):
        (found,) = client.decrypt(
            got, dtype=lambda parts: Fraction(parts[0]) * Fraction(2) ** parts[1]
        )
        assert abs(found - want) < 8 * 2**-got.precision_bits
