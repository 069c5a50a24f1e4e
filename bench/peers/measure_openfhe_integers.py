"""Times BGV and BFV in the `openfhe` wheel and prints JSON."""

import importlib.metadata
import math
import random
from dataclasses import dataclass

import openfhe as fhe
from measure import median_ms, report

T = 65537


@dataclass(frozen=True)
class Shape:
    """One parameter set. Its name is the group in `bench/data/peers.json`."""

    name: str
    log_n: int
    # BGV: the number of products. There is one prime more, and the primes are as large as the
    # security limit allows.
    bgv_depth: int
    bgv_bits: int
    dnum: int
    # BFV: the number of products, which is the maximum that the library allows at this ring degree.
    bfv_depth: int

    @property
    def degree(self) -> int:
        return 1 << self.log_n


SHAPES = (
    Shape("integers N = 2^14", 14, bgv_depth=5, bgv_bits=52, dnum=3, bfv_depth=6),
    Shape("integers N = 2^15", 15, bgv_depth=11, bgv_bits=53, dnum=3, bfv_depth=14),
)


def bgv(shape: Shape) -> fhe.CCParamsBGVRNS:
    parameters = fhe.CCParamsBGVRNS()
    parameters.SetMultiplicativeDepth(shape.bgv_depth)
    parameters.SetScalingTechnique(fhe.ScalingTechnique.FIXEDMANUAL)
    parameters.SetFirstModSize(shape.bgv_bits)
    parameters.SetScalingModSize(shape.bgv_bits)
    parameters.SetNumLargeDigits(shape.dnum)
    return parameters


def bfv(shape: Shape) -> fhe.CCParamsBFVRNS:
    parameters = fhe.CCParamsBFVRNS()
    parameters.SetMultiplicativeDepth(shape.bfv_depth)
    parameters.SetMultiplicationTechnique(fhe.MultiplicationTechnique.HPSPOVERQLEVELED)
    return parameters


def context(shape: Shape, parameters):
    parameters.SetPlaintextModulus(T)
    parameters.SetRingDim(shape.degree)
    parameters.SetKeySwitchTechnique(fhe.KeySwitchTechnique.HYBRID)
    parameters.SetSecretKeyDist(fhe.SecretKeyDist.UNIFORM_TERNARY)
    parameters.SetSecurityLevel(fhe.SecurityLevel.HEStd_128_classic)
    made = fhe.GenCryptoContext(parameters)
    for feature in (
        fhe.PKESchemeFeature.PKE,
        fhe.PKESchemeFeature.KEYSWITCH,
        fhe.PKESchemeFeature.LEVELEDSHE,
    ):
        made.Enable(feature)
    if made.GetRingDimension() != shape.degree:
        raise SystemExit(
            f"the library took ring degree {made.GetRingDimension()}, {shape.degree} was wanted"
        )
    return made


def measure_scheme(shape: Shape, scheme: str, parameters) -> tuple[dict[str, float], str]:
    cc = context(shape, parameters)
    keys = cc.KeyGen()
    cc.EvalMultKeyGen(keys.secretKey)
    cc.EvalRotateKeyGen(keys.secretKey, [1])
    source = random.Random(1)
    x, y = ([source.randrange(-(T // 2), T // 2) for _ in range(shape.degree)] for _ in range(2))
    plain = cc.MakePackedPlaintext(x)
    a = cc.Encrypt(keys.publicKey, plain)
    b = cc.Encrypt(keys.publicKey, cc.MakePackedPlaintext(y))

    def multiply():
        product = cc.EvalMult(a, b)
        return cc.ModReduce(product) if scheme == "BGV" else product

    decrypted = cc.Decrypt(keys.secretKey, multiply())
    decrypted.SetLength(shape.degree)
    if any((got - p * q) % T for got, p, q in zip(decrypted.GetPackedValue(), x, y, strict=True)):
        raise SystemExit(f"{scheme} multiplication is wrong")
    name = (
        "BGV multiply + relinearise + switch" if scheme == "BGV" else "BFV multiply + relinearise"
    )
    figures = {
        name: median_ms(multiply),
        f"{scheme} rotate": median_ms(lambda: cc.EvalRotate(a, 1)),
    }
    if scheme == "BGV":
        figures |= {
            "encode": median_ms(lambda: cc.MakePackedPlaintext(x)),
            "encrypt": median_ms(lambda: cc.Encrypt(keys.publicKey, plain)),
            "decrypt + decode": median_ms(lambda: cc.Decrypt(keys.secretKey, a)),
            "add": median_ms(lambda: cc.EvalAdd(a, b)),
            "add a plaintext": median_ms(lambda: cc.EvalAdd(a, plain)),
            "multiply by a plaintext": median_ms(lambda: cc.EvalMult(a, plain)),
        }
    fhe.ClearEvalMultKeys()
    return figures, f"{scheme}: log Q {math.log2(cc.GetModulus()):.0f}"


def measure(shape: Shape) -> dict:
    bgv_figures, bgv_modulus = measure_scheme(shape, "BGV", bgv(shape))
    bfv_figures, bfv_modulus = measure_scheme(shape, "BFV", bfv(shape))
    figures = bgv_figures | bfv_figures
    parameters = f"t = {T}, N = 2^{shape.log_n}; {bgv_modulus}, dnum {shape.dnum}; {bfv_modulus}, leveled HPS"
    return {"shape": shape.name, "log_n": shape.log_n, "parameters": parameters, "figures": figures}


if __name__ == "__main__":
    version = importlib.metadata.version("openfhe")
    report(f"OpenFHE wheel {version}", [measure(shape) for shape in SHAPES])
