"""Times CKKS in the `tenseal` wheel, through its bindings of Microsoft SEAL, and prints JSON."""

import importlib.metadata

import tenseal.sealapi as seal
from measure import check, inputs, median_ms, report
from shapes import SHAPES, Shape


def measure(shape: Shape) -> dict:
    # SEAL switches keys with one special prime, and each other prime is a digit.
    bits = [shape.first] + [shape.scale] * shape.depth + [shape.specials[0]]
    parameters = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
    parameters.set_poly_modulus_degree(shape.degree)
    parameters.set_coeff_modulus(seal.CoeffModulus.Create(shape.degree, bits))
    context = seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.TC128)
    generator = seal.KeyGenerator(context)
    public, relinearisation, rotation = seal.PublicKey(), seal.RelinKeys(), seal.GaloisKeys()
    generator.create_public_key(public)
    generator.create_relin_keys(relinearisation)
    generator.create_galois_keys([3], rotation)  # X -> X^3 rotates the slots by one

    encoder, evaluator = seal.CKKSEncoder(context), seal.Evaluator(context)
    encryptor, decryptor = (
        seal.Encryptor(context, public),
        seal.Decryptor(context, generator.secret_key()),
    )
    scale = 2.0**shape.scale
    x, y = inputs(shape.slots)

    def encode(values: list[float]):
        plain = seal.Plaintext()
        encoder.encode(values, scale, plain)
        return plain

    def encrypt(plain):
        out = seal.Ciphertext()
        encryptor.encrypt(plain, out)
        return out

    def decrypt(ciphertext):
        out = seal.Plaintext()
        decryptor.decrypt(ciphertext, out)
        return out

    def into(operation, *arguments):
        out = seal.Ciphertext()
        operation(*arguments, out)
        return out

    plain = encode(x)
    a, b = encrypt(plain), encrypt(encode(y))
    tensor = into(evaluator.multiply, a, b)
    product = into(evaluator.relinearize, tensor, relinearisation)

    def multiply():
        out = into(evaluator.multiply, a, b)
        evaluator.relinearize_inplace(out, relinearisation)
        evaluator.rescale_to_next_inplace(out)
        return out

    def rotate():
        return into(evaluator.rotate_vector, a, 1, rotation)

    def values(ciphertext) -> list[float]:
        return encoder.decode_double(decrypt(ciphertext))

    check("tenseal's product", values(multiply()), [p * q for p, q in zip(x, y, strict=True)])
    check("tenseal's rotation", values(rotate()), x[1:] + x[:1])

    decrypted = decrypt(a)
    figures = {
        "encode": median_ms(lambda: encode(x)),
        "decode": median_ms(lambda: encoder.decode_double(decrypted)),
        "encrypt": median_ms(lambda: encrypt(plain)),
        "decrypt": median_ms(lambda: decrypt(a)),
        "tensor": median_ms(lambda: into(evaluator.multiply, a, b)),
        "relinearise": median_ms(lambda: into(evaluator.relinearize, tensor, relinearisation)),
        "multiply + relinearise + rescale": median_ms(multiply),
        "rescale": median_ms(lambda: into(evaluator.rescale_to_next, product)),
        "rotate": median_ms(rotate),
    }
    described = (
        f"CKKS, N = 2^{shape.log_n}, Q = {shape.first} + {shape.depth} x {shape.scale} bits, "
        f"one special prime of {shape.specials[0]} bits, every prime a digit"
    )
    return {"shape": shape.name, "log_n": shape.log_n, "parameters": described, "figures": figures}


if __name__ == "__main__":
    version = importlib.metadata.version("tenseal")
    report(f"TenSEAL wheel {version} (SEAL)", [measure(shape) for shape in SHAPES])
