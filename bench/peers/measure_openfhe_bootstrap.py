"""Times a CKKS bootstrap of the `openfhe` wheel at N = 2^16 and prints JSON.

It bootstraps all 2^15 slots with real values, the only kind that the wheel encodes. The secret is
encapsulated in a sparse one, and slots to coefficients come first. The result has the fewest levels
with at least 420 bits of modulus. Two runs are timed, after one that is not counted.
"""

import importlib.metadata
import math
import resource

import openfhe as fhe
from measure import check, inputs, median_ms, report

LOG_N = 16
SLOTS = 1 << (LOG_N - 1)
# The levels of coefficients to slots and of slots to coefficients.
LEVELS = [3, 3]
FIRST, SCALE = 60, 59
# The levels left, without those of the next slots to coefficients.
LEVELS_LEFT = 4
DNUM = 3


def measure() -> dict:
    secret = fhe.SecretKeyDist.SPARSE_ENCAPSULATED
    depth = LEVELS_LEFT + fhe.CryptoContext.GetBootstrapDepth(LEVELS, secret)
    parameters = fhe.CCParamsCKKSRNS()
    parameters.SetSecretKeyDist(secret)
    parameters.SetSecurityLevel(fhe.SecurityLevel.HEStd_128_classic)
    parameters.SetRingDim(1 << LOG_N)
    parameters.SetScalingTechnique(fhe.ScalingTechnique.FLEXIBLEAUTO)
    parameters.SetFirstModSize(FIRST)
    parameters.SetScalingModSize(SCALE)
    parameters.SetNumLargeDigits(DNUM)
    parameters.SetMultiplicativeDepth(depth)
    cc = fhe.GenCryptoContext(parameters)
    for name in ("PKE", "KEYSWITCH", "LEVELEDSHE", "ADVANCEDSHE", "FHE"):
        cc.Enable(getattr(fhe.PKESchemeFeature, name))
    cc.EvalBootstrapSetup(LEVELS, [0, 0], SLOTS, 0, True, True)
    keys = cc.KeyGen()
    cc.EvalMultKeyGen(keys.secretKey)
    cc.EvalBootstrapKeyGen(keys.secretKey, SLOTS)
    x, _ = inputs(SLOTS)
    # The lowest level at which slots to coefficients can begin.
    a = cc.Encrypt(
        keys.publicKey, cc.MakeCKKSPackedPlaintext(x, 1, depth - 1 - LEVELS[1], None, SLOTS)
    )
    made = cc.EvalBootstrapStCFirst(a)
    decrypted = cc.Decrypt(keys.secretKey, made)
    decrypted.SetLength(SLOTS)
    values = decrypted.GetRealPackedValue()
    check("openfhe's bootstrap", values, x)
    errors = [abs(a - b) for a, b in zip(values, x, strict=True)]
    mean, worst = -math.log2(sum(errors) / SLOTS), -math.log2(max(errors))
    # The actual level of a result with a squared scale is one lower.
    left = FIRST + SCALE * (depth - made.GetLevel() - (made.GetNoiseScaleDeg() - 1))
    time = median_ms(lambda: cc.EvalBootstrapStCFirst(a), seconds=0, least=2)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    text = (
        f"CKKS, N = 2^{LOG_N}, {SLOTS} real slots, Q = {FIRST} + {depth} x {SCALE} bits, 60-bit "
        f"special primes as the library chooses, dnum {DNUM}, sparse encapsulated, slots to "
        f"coefficients first ({LEVELS[0]} levels to slots, {LEVELS[1]} back); precision {mean:.1f} "
        f"bits mean, {worst:.1f} worst; {left} bits left, {LEVELS[1] * SCALE} of them for the next "
        f"slots to coefficients; {memory:.1f} GiB"
    )
    return {
        "shape": "bootstrap N = 2^16",
        "log_n": LOG_N,
        "parameters": text,
        "figures": {"bootstrap": time},
    }


if __name__ == "__main__":
    version = importlib.metadata.version("openfhe")
    report(f"OpenFHE wheel {version}, slots to coefficients first, real slots", [measure()])
