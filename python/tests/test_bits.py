from __future__ import annotations

import operator
import pickle

import numpy as np
import pandas as pd
import pytest

import hippocrene
from hippocrene import EncryptedArray

pytestmark = pytest.mark.xdist_group("large")

# All pairs of numbers with this number of bits.
BITS = 3
PAIRS = np.arange(1 << 2 * BITS)
X, Y = PAIRS >> BITS, PAIRS & (1 << BITS) - 1


@pytest.fixture(scope="module")
def client() -> hippocrene.Client:
    return hippocrene.Client.generate("bits14")


@pytest.fixture(scope="module")
def keys(client) -> hippocrene.EvaluationKeys:
    return client.evaluation_keys()


@pytest.fixture(scope="module")
def server(keys) -> hippocrene.Server:
    return hippocrene.Server(keys)


@pytest.fixture
def equal(client):
    def check(encrypted: EncryptedArray, want) -> None:
        got = client.decrypt(encrypted)
        assert got.dtype == np.bool_
        np.testing.assert_array_equal(got, want)

    return check


def truth() -> tuple[np.ndarray, np.ndarray]:
    """All pairs of bits, in an array of two axes."""
    return np.array([[False, False, True], [True, True, False]]), np.array(
        [[False, True, False], [True, False, True]]
    )


def slices(numbers: np.ndarray, bits: int = BITS) -> list[np.ndarray]:
    return [numbers >> k & 1 == 1 for k in range(bits)]


def unsliced(client: hippocrene.Client, bits: list[EncryptedArray]) -> np.ndarray:
    return sum(client.decrypt(bit).astype(int) << k for k, bit in enumerate(bits))


def test_gates_are_those_of_numpy(secret, equal):
    a, b = truth()
    x, y = secret(a), secret(b)
    assert x.shape == a.shape
    assert 0 < x.bit_error < 0.5
    equal(x & y, a & b)
    equal(x | y, a | b)
    equal(x ^ y, a ^ b)
    equal(~x, ~a)
    equal(x.nand(y), ~(a & b))
    equal(x.nor(y), ~(a | b))
    equal(x.xnor(y), a == b)
    equal(x == y, a == b)
    equal(x != y, a != b)
    equal(x.select(y, ~y), np.where(a, b, ~b))
    equal(x.select(b.tolist(), (~b).tolist()), np.where(a, b, ~b))
    with pytest.raises(TypeError, match="select takes encrypted bits or booleans"):
        x.select(1, 0)


def test_gates_take_plain_booleans(secret, equal, server):
    a, b = truth()
    x = secret(a)
    equal(x & b, a & b)
    equal(b | x, a | b)
    equal(b[0] ^ x, a ^ b[0])
    equal(x.nand([[True], [False]]), ~(a & np.array([[True], [False]])))
    before = server.bootstraps
    for plain in (True, np.False_, np.ones((2, 3), dtype=bool)):
        equal(x & plain, a & plain)
        equal(plain | x, a | plain)
        equal(x ^ plain, a ^ plain)
        equal(x == plain, a == plain)
    assert server.bootstraps == before, "one plain bit for all takes no bootstrap"


@pytest.mark.parametrize(
    "array",
    [
        pd.Series,
        lambda a: pd.Series(a, dtype="boolean"),
        lambda a: np.array(a, dtype=object),
        lambda a: memoryview(np.array(a)),
    ],
)
def test_whatever_holds_booleans_is_bits(client, secret, equal, array):
    plain, other = [True, False, True], np.array([True, True, False])
    equal(client.encrypt(array(plain)), plain)
    equal(client.public_key().encrypt(array(plain)), plain)
    x = secret(other)
    equal(x & array(plain), plain & other)
    equal(array(plain) | x, plain | other)
    equal(x == array(plain), plain == other)
    equal(array(plain) != x, plain != other)


def test_tables_of_booleans_are_bits(client, equal):
    table = pd.DataFrame({"a": [True, False], "b": [True, True]})
    equal(client.encrypt(table), table)
    assert client.encrypt(np.array([True, 2], dtype=object)).bit_error is None


def test_several_gates_take_one_bootstrap(secret, equal, server):
    a, b = truth()
    c = a ^ np.array([True, False, True])
    before = server.bootstraps
    total, carry = server.gates(("xor", "majority"), secret(a), secret(b), secret(c))
    assert server.bootstraps == before + 1
    equal(total, a ^ b ^ c)
    equal(carry, a.astype(int) + b + c >= 2)
    assert server.gates([], secret(a), secret(b)) == []
    assert server.bootstraps == before + 1


def test_there_is_no_limit_of_depth(secret, equal):
    bits = np.array([True, False, True])
    x = secret(bits)
    for _ in range(12):
        x = x.nand(x)
    assert x.bit_error < 0.5
    equal(x, bits)


def test_axes_of_length_1_do_not_matter(secret, equal):
    bits = np.array([True, False, True])
    equal(secret(bits)[None] & secret(bits[None]), bits[None])
    equal(secret(bits).reshape(1, 3) ^ secret(~bits[None]), np.ones((1, 3)))


def test_numbers_in_slices_are_added_and_compared(client, secret, equal, server):
    x, y = [secret(bit) for bit in slices(X)], [secret(bit) for bit in slices(Y)]
    total, carry = server.gates(("xor", "and"), x[0], y[0])
    sums, greater = [total], x[0] & ~y[0]
    for a, b in zip(x[1:], y[1:], strict=True):
        greater = server.gates(["majority"], a, ~b, greater)[0]
        total, carry = server.gates(("xor", "majority"), a, b, carry)
        sums.append(total)
    np.testing.assert_array_equal(unsliced(client, [*sums, carry]), X + Y)
    equal(greater, X > Y)


def test_carries_are_computed_in_parallel(client, secret, server):
    """The prefix sums of Kogge and Stone: log2 of the bits deep instead of their number."""
    x, y = [secret(bit) for bit in slices(X)], [secret(bit) for bit in slices(Y)]
    half = [server.gates(("xor", "and"), a, b) for a, b in zip(x, y, strict=True)]
    propagate, generate = [list(bits) for bits in zip(*half, strict=True)]
    through = list(propagate)
    distance = 1
    while distance < BITS:
        for k in reversed(range(distance, BITS)):
            generate[k] = generate[k] | (through[k] & generate[k - distance])
            through[k] = through[k] & through[k - distance]
        distance *= 2
    sums = [propagate[0], *(propagate[k] ^ generate[k - 1] for k in range(1, BITS)), generate[-1]]
    np.testing.assert_array_equal(unsliced(client, sums), X + Y)


def test_what_holds_no_bits_is_refused_in_the_name_of_what_was_called(server, secret):
    client = hippocrene.Client.generate("n13", scheme="bgv")
    integers = client.encrypt([1, 2])
    with pytest.raises(TypeError, match=r"^gates is for encrypted bits: booleans"):
        server.gates(["xor"], integers, integers)
    with pytest.raises(TypeError, match=r"^bootstrap is not for encrypted bits"):
        server.bootstrap(secret([True]))


def test_choices(secret, equal):
    x, y, z = X % 2 == 1, Y % 2 == 1, X > 3
    a, b, c = secret(x), secret(y), secret(z)
    equal(np.select([a, z], [b, c], default=True), np.select([x, z], [y, z], default=True))
    equal(np.choose(Y % 3, [a, b, ~x]), np.choose(Y % 3, [x, y, ~x]))


def test_gates_are_simulated(client, keys, secret, equal):
    def program(x, y):
        return {"and": x & y, "xor": x ^ ~y, "select": (x ^ y).select(x, ~y), "plain": x | (X > 3)}

    x, y = X % 2 == 1, Y % 2 == 1
    simulation = hippocrene.simulate(program, x, y, preset="bits14")
    real = program(secret(x), secret(y))
    for name, bits in {
        "and": x & y,
        "xor": x ^ ~y,
        "select": np.where(x ^ y, x, ~y),
        "plain": x | (X > 3),
    }.items():
        assert simulation.result[name].dtype == bool
        np.testing.assert_array_equal(simulation.result[name], bits)
        equal(real[name], bits)
    assert simulation.bit_error == max(array.bit_error for array in real.values())
    assert simulation.bootstraps == 7
    assert (simulation.precision_bits, simulation.capacity_bits, simulation.budget_bits) == (
        None,
        None,
        None,
    )
    assert simulation.bits
    assert 0.95 < simulation.key_bytes / len(keys.to_bytes()) < 1.05
    assert (
        0.95 < simulation.key_bytes / len(client.evaluation_keys(for_=simulation).to_bytes()) < 1.05
    )


def test_client_and_server_share_only_files(client, keys, equal, tmp_path):
    a, b = truth()
    client.encrypt(a).save(tmp_path / "x")
    client.public_key().save(tmp_path / "public")
    hippocrene.PublicKey.load(tmp_path / "public").encrypt(b).save(tmp_path / "y")
    keys.save(tmp_path / "keys")
    client.save(tmp_path / "secret")

    server = hippocrene.Server(hippocrene.EvaluationKeys.load(tmp_path / "keys"))
    x, y = server.load(tmp_path / "x"), server.load(tmp_path / "y")
    (x & ~y).save(tmp_path / "z")

    again = hippocrene.Client.load(tmp_path / "secret")
    z = EncryptedArray.load(tmp_path / "z")
    assert z.shape == a.shape
    assert 0 < z.bit_error < 0.5
    np.testing.assert_array_equal(again.decrypt(z), a & ~b)
    equal(pickle.loads(pickle.dumps(z)), a & ~b)
    assert repr(z).startswith("BitArray(shape=(2, 3), bit_error=")


def test_all_any_and_counts_are_gates(secret, equal, server):
    """As the errors of numpy's functions say."""
    bits = np.array([[True, False, True], [True, True, False], [True, False, False]])
    x, y, z = map(secret, bits)
    equal(x & y & z, np.all(bits, axis=0))
    equal(x | y | z, np.any(bits, axis=0))
    equal(x ^ y ^ z, np.count_nonzero(bits, axis=0) % 2 == 1)
    (high,) = server.gates(["majority"], x, y, z)
    equal(high, np.count_nonzero(bits, axis=0) >= 2)
    told = hippocrene.simulate(lambda x: (x[0] & x[1], x[0] | x[1]), bits[0, :2], preset="bits14")
    np.testing.assert_array_equal(told.result, [False, True])
    assert told.rotations


def test_what_bits_are_not_is_refused(client, secret, server):
    x = secret(np.array([True, False]))
    short, long = secret(np.array([True] * 4)), np.array([True, False, True])
    for name, gate in {
        r"&": operator.and_,
        r"\|": operator.or_,
        r"\^": operator.xor,
        "==": operator.eq,
        "!=": operator.ne,
        "nand": lambda a, b: a.nand(b),
        "xnor": lambda a, b: a.xnor(b),
    }.items():
        for other in (short, long):
            with pytest.raises(hippocrene.ShapeError, match=f"^{name}: .*shape"):
                gate(x, other)
    with pytest.raises(hippocrene.KeyMismatchError, match=r"^&: encrypted under key"):
        x & hippocrene.Client.generate("bits14").encrypt(np.array([True, False]))
    for compute in (
        lambda: x & 1,
        lambda: 1 & x,
        lambda: x == 1,
        lambda: x != [1, 0],
        lambda: np.array([1, 0]) == x,
    ):
        with pytest.raises(
            TypeError, match="takes encrypted bits or booleans, not values of type int64"
        ):
            compute()
    for wrong in (1.5, None):
        with pytest.raises(TypeError, match="encrypted bits or booleans"):
            x.nand(wrong)
    assert (x == None, x != None, x == "a", x != "a") == (False, True, False, True)  # noqa: E711
    for name, compute in {
        "add": lambda: x + x,
        "sub": lambda: x - True,
        "sum": lambda: x.sum(),
        "with_bound": lambda: x.with_bound(1),
        "polynomial": lambda: x.polynomial([1, 2]),
        "prod": lambda: x.prod(),
    }.items():
        with pytest.raises(
            TypeError, match=f"{name} is not for encrypted bits, which compute with &"
        ):
            compute()
    for function, instead in {
        np.count_nonzero: "count bits after decryption, or add three bits by gates",
    }.items():
        with pytest.raises(
            TypeError, match=rf"^numpy\.{function.__name__} takes no encrypted arrays: .*{instead}"
        ):
            function(x)
    with pytest.raises(hippocrene.ArgumentError, match="there is no gate"):
        server.gates(["imply"], x, x)
    with pytest.raises(
        hippocrene.ArgumentError, match=r"^majority: there are 2 operands: a majority has three"
    ):
        server.gates(["majority"], x, x)
    with pytest.raises(TypeError, match="several names"):
        server.gates("xor", x, x)
    with pytest.raises(AttributeError, match="bit_error"):
        _ = x.precision_bits
    with pytest.raises(TypeError, match="interval"):
        client.encrypt(np.array([True]), bound=1.0)
    with pytest.raises(TypeError, match="bool"):
        client.decrypt(x, dtype=float)
    with pytest.raises(TypeError, match="which it rounds"):
        client.decrypt_for_sharing(x)
    with pytest.raises(TypeError, match="masked"):
        client.encrypt(np.ma.masked_array([True, False], [True, False]))
    number = server.load(client.encrypt(1.5))
    assert number.bit_error is None
    for compute, instead in {
        lambda: number & True: r"use a \* b",
        lambda: True | number: r"use a \+ b - a \* b",
        lambda: number ^ number: r"use a \+ b - 2 \* a \* b",
        lambda: np.logical_and(number, number): r"use a \* b",
        lambda: ~number: "use 1 - a",
        lambda: np.logical_not(number): "use 1 - a",
    }.items():
        with pytest.raises(
            TypeError, match=f"for encrypted bits.* conditions that are 0 or 1, {instead}"
        ):
            compute()
    with pytest.raises(TypeError, match="add is not for encrypted bits"):
        number + x


def test_keys_without_bits_say_so(client):
    server = hippocrene.Server(client.evaluation_keys(bits=False, rotations=[]))
    x = server.load(client.encrypt(np.array([True])))
    with pytest.raises(hippocrene.MissingKeyError, match="no keys of bits"):
        x ^ x
    other = hippocrene.Client.generate("n13")
    with pytest.raises(hippocrene.ArgumentError, match="bits14"):
        other.evaluation_keys(bits=True)
    assert other.decrypt(other.encrypt(np.array([True])))[0] == pytest.approx(1.0), (
        "a number where the preset is not for bits"
    )


def test_bits_that_move_alike_are_picked(client, equal):
    plain = np.random.default_rng(3).random((5, 6)) < 0.5
    line = plain.ravel()
    server = hippocrene.Server(client.evaluation_keys(rotations=[1 << k for k in range(6)]))
    bits, row = server.load(client.encrypt(plain)), server.load(client.encrypt(line))
    for pick in (3, -1, slice(1, 5), slice(None, None, 2), slice(5, None, 4), None):
        equal(row[pick], line[pick])
    for pick in (
        2,
        (slice(None), 3),
        (slice(1, 4), slice(2, 4)),
        (4, 5),
        (slice(None), slice(None, None, 2)),
    ):
        equal(bits[pick], plain[pick])
    # Gates of selected bits, repeatedly. The contents of other slots do not matter.
    equal(row[1:5] & row[8:12], line[1:5] & line[8:12])
    equal(bits[1] ^ bits[3], plain[1] ^ plain[3])
    equal(bits[:, 1] | ~bits[:, 4], plain[:, 1] | ~plain[:, 4])
    equal((row[2:9] ^ row[:7])[3:5] & [True, False], (line[2:9] ^ line[:7])[3:5] & [True, False])
    equal(sum_of_pairs(row[:8]), np.logical_xor.reduce(line[:8]))
    equal(bits.transpose()[2], plain.T[2])
    equal(bits.T[2], plain.T[2])
    assert server.bootstraps == 8, "those of gates"
    with pytest.raises(IndexError):
        row[99]


def moves_of_bits(x: EncryptedArray, table: EncryptedArray) -> list[EncryptedArray]:
    """Moves of elements and gates that broadcast, for numpy's arrays and for encrypted ones."""
    return [
        x[::-1],
        x[[5, 1, 2, 1]],
        x[np.arange(10) % 3 == 0],
        np.roll(x, 3),
        np.flip(table, axis=1),
        np.roll(table, (1, 2), axis=(0, 1)),
        table.T ^ x[:3],
        np.concatenate([x, table[1], [True, False]]),
        np.stack([x, ~x], axis=1),
        np.pad(x, 2, constant_values=True),
        np.pad(table, 1),
        np.repeat(x, 2),
        x[:, None] & table[:, 0],
        table | table[0],
        table[0] ^ table[:, 1:2],
        table & [[True], [False], [True]],
        np.tril(table),
        np.broadcast_to(table[:, :1], (2, 3, 4)),
        np.select([x, ~x], [x, np.roll(x, 1)]),
    ]


def test_bits_go_anywhere(client):
    rng = np.random.default_rng(8)
    x, table = rng.random(10) < 0.5, rng.random((3, 3)) < 0.5
    expected = moves_of_bits(x, table)
    simulated = hippocrene.simulate(moves_of_bits, x, table, preset="bits14")
    server = hippocrene.Server(client.evaluation_keys(for_=simulated))
    computed = moves_of_bits(*(server.load(client.encrypt(bits)) for bits in (x, table)))
    for told, array, bits in zip(simulated.result, computed, expected, strict=True):
        assert array.shape == np.shape(bits)
        np.testing.assert_array_equal(told, bits)
        np.testing.assert_array_equal(client.decrypt(array), bits)
        assert array.bit_error < 3 / 32
    assert server.bootstraps == simulated.bootstraps


def test_any_and_all_along_axes(client, equal):
    plain = np.random.default_rng(4).random((5, 6)) < 0.8
    server = hippocrene.Server(client.evaluation_keys(rotations=[1 << k for k in range(6)]))
    bits = server.load(client.encrypt(plain))
    for axis, keepdims in [(None, False), (0, False), (-1, True), ((0, 1), True)]:
        equal(bits.any(axis, keepdims=keepdims), plain.any(axis, keepdims=keepdims))
        equal(np.all(bits, axis, keepdims=keepdims), plain.all(axis, keepdims=keepdims))
    with pytest.raises(
        TypeError, match=r"all is for encrypted bits.*conditions that are 0 or 1, use a\.prod\(\)"
    ):
        np.all(hippocrene.Client.generate("n12").encrypt([1.0, 0.0]))


def sum_of_pairs(bits: EncryptedArray) -> EncryptedArray:
    """The parity, of halves and halves again."""
    while len(bits) > 1:
        bits = bits[: len(bits) // 2] ^ bits[len(bits) // 2 :]
    return bits[0]


def test_picked_bits_take_keys(client, secret):
    x = secret(np.array([True, False, True]))
    with pytest.raises(hippocrene.MissingKeyError, match="rotation by 1 "):
        x[1]
    picked = hippocrene.simulate(lambda x: x[1:] & x[:2], [True, False, True], preset="bits14")
    np.testing.assert_array_equal(picked.result, [False, False])
    server = hippocrene.Server(client.evaluation_keys(for_=picked))
    y = server.load(client.encrypt([True, True, False]))
    np.testing.assert_array_equal(client.decrypt(y[1:] & y[:2]), [True, False])


def test_universal_functions_and_joins_of_bits(secret, equal):
    plain, other = np.array([True, False, True]), np.array([True, True, False])
    bits = secret(plain)
    equal(np.bitwise_and(other, bits), plain & other)
    equal(other ^ bits, plain ^ other)
    equal(np.invert(bits), ~plain)
    equal(np.logical_and(other, bits), plain & other)
    equal(np.logical_or(bits, other), plain | other)
    equal(np.logical_xor(bits, other), plain ^ other)
    equal(np.logical_not(bits), ~plain)
    third = np.array([False, False, True])
    equal(np.where(bits, secret(other), secret(third)), np.where(plain, other, third))
    equal(np.where(bits, True, third.tolist()), np.where(plain, True, third))
    equal(np.where(other, bits, secret(third)), np.where(other, plain, third))
    with pytest.raises(
        TypeError, match="where of encrypted bits takes booleans, not values of type int64"
    ):
        np.where(bits, 1, 0)
    equal(other == bits, plain == other)
    equal(bits.ravel(), plain)
    with pytest.raises(
        TypeError, match="concatenate of encrypted bits takes booleans, not values of type int64"
    ):
        np.concatenate([bits, [1, 0]])
