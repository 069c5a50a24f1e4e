"""Costs of the known attacks on our parameter sets, as log2 of the number of operations.

    python bench/estimates.py

It needs numpy and the command `hippocrene` on the path, and takes two minutes. It prints the primal
attacks on every preset, and on the sparse secrets of weight 32 under which bootstraps raise the
modulus:

- uSVP: lattice reduction with all coefficients (Alkim, Ducas, Pöppelmann and Schwabe, USENIX
  Security 2016).
- BDD: weaker lattice reduction, and one larger sieve in a projection (Liu and Nguyen, CT-RSA 2013).
- drop: the same, for sparse secrets, on the guess that some coefficients are zero, again until the
  guess is right (Albrecht, EUROCRYPT 2017).
- hybrid: some coefficients are guessed by meeting in the middle, the others follow by Babai's
  nearest plane (Howgrave-Graham, CRYPTO 2007). Its probabilities are those of Wunderer (2019) and
  of Son and Cheon (ePrint 2019/1019, Lemma 4.2): that the nearest plane is right, and that the two
  halves meet.
- met: the same with halves that always meet. This favours the attacker more than any analysis does.

Two cost models of lattice reduction are used: that of MATZOV (2022) with sieving by list decoding
and the constants of the lattice estimator, and that of Becker, Ducas, Gama and Laarhoven (SODA
2016).

If the lattice estimator (https://github.com/malb/lattice-estimator, tried at commit 27a581b) is on
Python's path, the program also prints its dual hybrid attack (dual) for every set, its hybrid
attack for the smallest set, to compare with ours, and all of its attacks for sets of plain LWE:
look-up tables and gates. The estimator needs SageMath. The parts on PyPI suffice, for Python 3.11
(3.9 GB). The whole run then needs about ten minutes:

    python3.11 -m venv sage
    sage/bin/pip install numpy passagemath-standard-no-symbolics==10.8.13 \\
        passagemath-symbolics==10.8.13
    git clone https://github.com/malb/lattice-estimator
    PYTHONPATH=lattice-estimator sage/bin/python bench/estimates.py

The exit status is 1 if a set has less than 128 bits.
"""

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

try:
    from estimator import LWE, ND, RC
except ModuleNotFoundError:
    LWE = None

SIGMA = 3.19
NEEDED = 128

# Sets of plain LWE: name, dimension, log2 of the modulus, and whether the secret is binary (ternary
# otherwise).
SINGLE = [
    ("inputs of look-up tables", 1024, 25, True),
    ("the same with a modulus of 26 bits: refused", 1024, 26, True),
    ("inputs of gates of single bits", 720, 17, True),
    ("the same with a modulus of 18 bits: refused", 720, 18, True),
    ("rings of gates; Table 5.2 of ePrint 2024/463, n = 1024", 1024, 26, False),
    ("rings of lut11, which have 48 bits; Table 5.2, n = 2048", 2048, 53, False),
]

# log2 of the ring degree, and the largest log2(q0 p) of a sparse secret of weight 32
# (rlwe::security::limit_at). The special p has the bits that the limit leaves above q0, but at most
# 61. So no key of a bootstrap has a larger modulus.
RAISED = [(14, 65), (15, 121), (16, 121), (17, 242)]
RAISED_WEIGHT = 32

# The nearest plane is taken as certain if r/sigma exceeds 1 by more than this, in bits (chosen).
CERTAIN = 50.0


class Set(NamedTuple):
    """A set of ring LWE."""

    name: str
    log_degree: int
    log2_q: float
    # The Hamming weight of a sparse secret, 0 for uniform ternary ones.
    weight: int

    @property
    def degree(self) -> int:
        """The ring degree."""
        return 1 << self.log_degree

    @property
    def log2_scale(self) -> float:
        """log2 of the factor that makes secret coefficients as large as errors."""
        share = self.weight / self.degree if self.weight else 2 / 3
        return math.log2(SIGMA) - math.log2(share) / 2


def log2_root_hermite(block: int) -> float:
    """Root Hermite factor of reduced bases (Chen's thesis, for blocks of 50 and more)."""
    return (math.log2(block / (2 * math.pi * math.e)) + math.log2(math.pi * block) / block) / (
        2 * (block - 1)
    )


def matzov(block: int, dimension: int) -> float:
    """Cost of lattice reduction: progressive sieves with dimensions for free, list decoding."""
    free = block * math.log(4 / 3) / math.log(block / (2 * math.pi * math.e))
    progressive = 1 / (1 - 2**-0.292)
    calls = progressive * max(dimension - block, 1)
    sieve = 0.29613500308205365 * (block - max(free, 0)) + 20.387885985467914
    return math.log2(calls) + math.log2(progressive) + sieve


def bdgl16(block: int, dimension: int) -> float:
    """Cost of lattice reduction: 8 sieves for each dimension."""
    return 0.292 * block + 16.4 + math.log2(8 * dimension)


Cost = Callable[[int, int], float]
COSTS: dict[str, Cost] = {"MATZOV": matzov, "BDGL16": bdgl16}


def log2_binomial(n: int, k: int) -> float:
    """log2 of the number of ways to choose `k` out of `n`."""
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def dimension_of(this: Set, guessed: int, block: int) -> int:
    """The dimension at which the last vectors of a reduced basis are the longest."""
    others = this.degree - guessed
    best = math.sqrt(others * (this.log2_q - this.log2_scale) / log2_root_hermite(block))
    return max(block, others + 1, math.ceil(best))


def log2_root_volume(this: Set, guessed: int, dimension: int) -> float:
    """log2 of the root of the lattice's volume, of the order of its dimension.

    The lattice is that of the coefficients that are not guessed.
    """
    others = this.degree - guessed
    return ((dimension - others) * this.log2_q + others * this.log2_scale) / dimension


def usvp_block(this: Set, guessed: int = 0) -> int | None:
    """Block size that finds all coefficients but `guessed` known zeros, or `None` beyond 4000."""

    def finds(block: int) -> bool:
        dimension = dimension_of(this, guessed, block)
        slope = (2 * block - dimension - 1) * log2_root_hermite(block)
        return math.log2(SIGMA) + math.log2(block) / 2 <= slope + log2_root_volume(
            this, guessed, dimension
        )

    low, high = 50, 4000
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if finds(middle) else (middle + 1, high)
    return low if finds(low) else None


def usvp(this: Set, cost: Cost) -> float:
    """Cost of the uSVP attack."""
    block = usvp_block(this)
    return math.inf if block is None else cost(block, dimension_of(this, 0, block))


def bdd(this: Set, cost: Cost, guessed: int = 0) -> float:
    """Cost of the BDD attack on all coefficients but `guessed` ones, which are known to be zero."""

    def at(block: int) -> float:
        dimension = dimension_of(this, guessed, block)
        slope, root = log2_root_hermite(block), log2_root_volume(this, guessed, dimension)

        def finds(last: int) -> bool:
            # The error is the shortest vector of the projection to the last vectors, with one
            # dimension more for the error itself.
            n = last + 1
            volume = last * (root - (dimension - last) * slope) + math.log2(SIGMA)
            ball = n / 2 * math.log2(math.pi) - math.lgamma(n / 2 + 1) / math.log(2)
            return (volume - ball) / n >= math.log2(SIGMA) + math.log2(n) / 2

        low, high = 2, dimension
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if finds(middle) else (middle + 1, high)
        if not finds(low):
            return math.inf
        reduction, sieve = cost(block, dimension), cost(max(low + 1, 50), low + 1)
        return max(reduction, sieve) + math.log2(1 + 2.0 ** -abs(reduction - sieve))

    whole = usvp_block(this, guessed)
    if whole is None:
        return math.inf
    return min(map(at, range(max(50, whole - 60), whole + 1)))


def drop(this: Set, cost: Cost) -> float:
    """Cost of the BDD attack if some coefficients are guessed to be zero."""
    n, h = this.degree, this.weight

    def at(guessed: int) -> float:
        right = log2_binomial(n - guessed, h) - log2_binomial(n, h)
        return bdd(this, cost, guessed) - right

    return min(at(n * k // 256) for k in range(0, 256, 2) if n - n * k // 256 > h)


_erf = np.frompyfunc(math.erf, 1, 1)


def log2_nearest_plane(this: Set, guessed: int, block: int, dimension: int) -> tuple[float, float]:
    """log2 of two probabilities for a reduced basis.

    The first is that the nearest plane is right, the second that both halves of a guess meet.
    """
    slope, root = log2_root_hermite(block), log2_root_volume(this, guessed, dimension)
    # The lengths of the Gram-Schmidt vectors fall by 2^(-2 slope) from one to the next.
    first = max(0, math.floor((dimension - 1) / 2 + (root - CERTAIN) / (2 * slope)))
    if first >= dimension:
        return 0.0, 0.0
    lengths = (dimension - 1 - 2 * np.arange(first, dimension)) * slope + root
    x = np.exp2(np.maximum(lengths, -CERTAIN)) / (math.sqrt(2) * SIGMA)
    right = _erf(x / 2).astype(float)
    meets = _erf(x).astype(float) - (1 - np.exp(-np.minimum(x * x, 700))) / (x * math.sqrt(math.pi))
    if right.min() <= 0 or meets.min() <= 0:
        return -math.inf, -math.inf
    return float(np.log2(right).sum()), float(np.log2(meets).sum())


def log2_repeats(log2_probability: float) -> float:
    """log2 of the number of tries until one succeeds with a probability of 99 %."""
    if log2_probability < -40:
        return math.log2(math.log(100)) - log2_probability
    if log2_probability > -1e-9:
        return 0.0
    return max(0.0, math.log2(math.log(0.01) / math.log1p(-(2**log2_probability))))


def hybrid(this: Set, cost: Cost, meets_always: bool) -> float:
    """Cost of the hybrid attack.

    It is the minimum over the number of guessed coefficients, the block size and the weight of
    guesses.
    """
    n, h = this.degree, this.weight
    known: dict[tuple[int, int], float] = {}

    def compute(guessed: int, block: int) -> float:
        dimension = dimension_of(this, guessed, block)
        right, meets = log2_nearest_plane(this, guessed, block, dimension)
        right += 0 if meets_always else meets
        if right == -math.inf:
            return math.inf
        reduction, all_weights = cost(block, dimension), log2_binomial(n, guessed)
        best, guesses, probability = math.inf, 0.0, 0.0
        for weight in range(min(h, guessed) + 1):
            if h - weight > n - guessed:
                continue
            guesses += 2.0 ** min(1000.0, log2_binomial(guessed, weight) + weight)
            probability += 2.0 ** (
                log2_binomial(h, weight) + log2_binomial(n - h, guessed - weight) - all_weights
            )
            search = math.log2(guesses) / 2 + 2 * math.log2(dimension)
            if probability > 0:
                both = max(reduction, search) + math.log2(1 + 2.0 ** -abs(reduction - search))
                best = min(best, both + log2_repeats(right + math.log2(min(1.0, probability))))
            if search > reduction + 40:
                break
        return best

    def at(guessed: int, block: int) -> float:
        guessed, block = min(max(guessed, 0), n - 2), max(block, 50)
        if (guessed, block) not in known:
            known[guessed, block] = compute(guessed, block)
        return known[guessed, block]

    start = ((n * k // 32, block) for k in range(32) for block in range(60, 601, 30))
    guessed, block = min(start, key=lambda both: at(*both))
    step, wider = n // 64, 16
    while step > n // 4096 or wider > 1:
        around = [(guessed + i * step, block + j * wider) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        best = min(around, key=lambda both: at(*both))
        if at(*best) < at(guessed, block):
            guessed, block = best
        else:
            step, wider = max(step // 2, n // 4096), max(wider // 2, 1)
    return at(guessed, block)


def attacks(this: Set, cost: Cost) -> dict[str, float]:
    """Costs of all attacks that this program computes."""
    found = {"uSVP": usvp(this, cost), "BDD": bdd(this, cost)}
    if this.weight:
        found["drop"] = drop(this, cost)
        found["hybrid"] = hybrid(this, cost, meets_always=False)
        found["met"] = hybrid(this, cost, meets_always=True)
    return found


def presets() -> Iterable[Set]:
    """Sets of the presets, and of the sparse secrets of bootstraps."""
    printed = subprocess.run(
        ["hippocrene", "presets", "--json"], capture_output=True, check=True
    ).stdout
    for preset in json.loads(printed)["presets"]:
        weight = re.search(r"weight (\d+)", preset["secret"])
        log_degree = preset["ring_degree"].bit_length() - 1
        yield Set(preset["name"], log_degree, preset["log2_pq"], int(weight[1]) if weight else 0)
    for log_degree, log2_q in RAISED:
        yield Set(f"raised at 2^{log_degree}", log_degree, log2_q, RAISED_WEIGHT)


def estimated(dimension: int, log2_q: float, secret: object) -> object:
    """Parameters for the lattice estimator."""
    whole = math.floor(log2_q)
    modulus = (round(2 ** (log2_q - whole) * 2**20) << whole) >> 20
    return LWE.Parameters(dimension, modulus, secret, ND.DiscreteGaussian(SIGMA))


def secret_of(this: Set) -> object:
    """The distribution of a secret, for the lattice estimator."""
    if this.weight:
        return ND.SparseTernary(this.weight // 2, this.weight - this.weight // 2, this.degree)
    return ND.Uniform(-1, 1)


def print_single() -> None:
    """Print the lattice estimator's figures for plain LWE, and both estimates of the hybrid attack."""
    runs = {"uSVP": LWE.primal_usvp, "BDD": LWE.primal_bdd, "dual hybrid": LWE.dual_hybrid}
    models = {"MATZOV": RC.MATZOV, "BDGL16": RC.BDGL16}
    print("\nThe lattice estimator")
    for name, dimension, log2_modulus, binary in SINGLE:
        parameters = estimated(
            dimension, log2_modulus, ND.Uniform(0, 1) if binary else ND.Uniform(-1, 1)
        )
        for cost, model in models.items():
            found = {
                attack: math.log2(run(parameters, red_cost_model=model)["rop"])
                for attack, run in runs.items()
            }
            words = ", ".join(f"{attack} {bits:.1f}" for attack, bits in found.items())
            print(f"{name} ({cost}): {min(found.values()):.1f} bits ({words})", flush=True)
    log_degree, log2_q = RAISED[0]
    this = Set("", log_degree, log2_q, RAISED_WEIGHT)
    theirs = LWE.primal_hybrid(
        estimated(this.degree, log2_q, secret_of(this)), red_cost_model=RC.MATZOV
    )
    ours = hybrid(this, matzov, meets_always=False)
    print(
        f"hybrid attack, raised at 2^{log_degree} (MATZOV): {math.log2(theirs['rop']):.1f} bits, "
        f"ours {ours:.1f}"
    )


def main() -> int:
    """Print the estimates of all sets."""
    columns = ["uSVP", "BDD", "drop", "hybrid", "met"] + ["dual"] * (LWE is not None)
    print(
        "set             degree  log2 q  secret  ",
        *(f"{column:>8}" for column in columns),
        "  lowest   BDGL16",
    )
    weakest = math.inf
    for this in presets():
        found = attacks(this, matzov)
        if LWE is not None:
            parameters = estimated(this.degree, this.log2_q, secret_of(this))
            found["dual"] = math.log2(LWE.dual_hybrid(parameters, red_cost_model=RC.MATZOV)["rop"])
        lowest = min(found.values())
        finite = {column for column, bits in found.items() if bits < math.inf}
        cells = [f"{found[column]:8.1f}" if column in finite else " " * 8 for column in columns]
        secret = f"h = {this.weight}" if this.weight else "ternary"
        other = min(attacks(this, bdgl16).values())
        note = "  BELOW" if lowest < NEEDED else ""
        line = f"{this.name:<15} {this.degree:>6}  {this.log2_q:6.1f}  {secret:<8}"
        print(line, *cells, f"{lowest:8.1f} {other:8.1f}{note}", flush=True)
        weakest = min(weakest, lowest)
    print(f"The weakest set has {weakest:.1f} bits; {NEEDED} are needed.")
    if LWE is None:
        print(
            "Without the lattice estimator there are no dual attacks and no sets of plain LWE here."
        )
    else:
        print_single()
    return int(weakest < NEEDED)


if __name__ == "__main__":
    sys.exit(main())
