"""Times CKKS in the `openfhe` wheel (hybrid key switching, rescaling by hand) and prints JSON."""

import importlib.metadata

import openfhe as fhe
from measure import check, inputs, median_ms, report
from shapes import SHAPES, Shape

HOISTED = 8


def context(shape: Shape):
    parameters = fhe.CCParamsCKKSRNS()
    parameters.SetRingDim(shape.degree)
    parameters.SetBatchSize(shape.slots)
    parameters.SetMultiplicativeDepth(shape.depth)
    parameters.SetFirstModSize(shape.first)
    parameters.SetScalingModSize(shape.scale)
    parameters.SetScalingTechnique(fhe.ScalingTechnique.FIXEDMANUAL)
    parameters.SetKeySwitchTechnique(fhe.KeySwitchTechnique.HYBRID)
    parameters.SetNumLargeDigits(shape.dnum)
    parameters.SetSecretKeyDist(fhe.SecretKeyDist.UNIFORM_TERNARY)
    parameters.SetSecurityLevel(fhe.SecurityLevel.HEStd_128_classic)
    made = fhe.GenCryptoContext(parameters)
    for feature in (
        fhe.PKESchemeFeature.PKE,
        fhe.PKESchemeFeature.KEYSWITCH,
        fhe.PKESchemeFeature.LEVELEDSHE,
    ):
        made.Enable(feature)
    return made


def measure(shape: Shape) -> dict:
    cc = context(shape)
    keys = cc.KeyGen()
    cc.EvalMultKeyGen(keys.secretKey)
    cc.EvalRotateKeyGen(keys.secretKey, list(range(1, HOISTED + 1)))
    x, y = inputs(shape.slots)
    plain = cc.MakeCKKSPackedPlaintext(x)
    a = cc.Encrypt(keys.publicKey, plain)
    b = cc.Encrypt(keys.publicKey, cc.MakeCKKSPackedPlaintext(y))

    def multiply():
        return cc.Rescale(cc.EvalMult(a, b))

    def hoisted():
        digits = cc.EvalFastRotationPrecompute(a)
        return [cc.EvalFastRotation(a, k, 2 * shape.degree, digits) for k in range(1, HOISTED + 1)]

    def values(ciphertext) -> list[float]:
        decrypted = cc.Decrypt(keys.secretKey, ciphertext)
        decrypted.SetLength(shape.slots)
        return decrypted.GetRealPackedValue()

    def turned(k: int) -> list[float]:
        return x[k:] + x[:k]

    check("openfhe's product", values(multiply()), [p * q for p, q in zip(x, y, strict=True)])
    check("openfhe's rotation", values(cc.EvalRotate(a, 1)), turned(1))
    check("openfhe's hoisted rotation", values(hoisted()[-1]), turned(HOISTED))

    tensor = cc.EvalMultNoRelin(a, b)
    product = cc.EvalMult(a, b)
    figures = {
        "encode": median_ms(lambda: cc.MakeCKKSPackedPlaintext(x)),
        "encrypt": median_ms(lambda: cc.Encrypt(keys.publicKey, plain)),
        "decrypt + decode": median_ms(lambda: cc.Decrypt(keys.secretKey, a)),
        "tensor": median_ms(lambda: cc.EvalMultNoRelin(a, b)),
        "relinearise": median_ms(lambda: cc.Relinearize(tensor)),
        "multiply + relinearise + rescale": median_ms(multiply),
        "rescale": median_ms(lambda: cc.Rescale(product)),
        "rotate": median_ms(lambda: cc.EvalRotate(a, 1)),
        "rotate, hoisted, each of 8": median_ms(hoisted) / HOISTED,
    }
    fhe.ClearEvalMultKeys()
    parameters = (
        f"CKKS, N = 2^{shape.log_n}, Q = {shape.first} + {shape.depth} x {shape.scale} bits, "
        f"60-bit special primes as the library chooses, dnum {shape.dnum}"
    )
    return {"shape": shape.name, "log_n": shape.log_n, "parameters": parameters, "figures": figures}


if __name__ == "__main__":
    version = importlib.metadata.version("openfhe")
    report(f"OpenFHE wheel {version}", [measure(shape) for shape in SHAPES])
