package main

import (
	"fmt"
	"math/cmplx"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

const hoisted = 8

// The operations of somewhat homomorphic CKKS: GRAFT's simSHE14 and simSHE15.
func she() []shape {
	return []shape{
		sheAt("she14", ckks.ParametersLiteral{LogN: 14, LogQ: repeated(40, 38, 7), LogP: repeated(60, 60, 1), LogDefaultScale: 38}),
		sheAt("she15", ckks.ParametersLiteral{LogN: 15, LogQ: repeated(43, 41, 9), LogP: repeated(60, 60, 2), LogDefaultScale: 41}),
	}
}

func sheAt(name string, literal ckks.ParametersLiteral) shape {
	params := get(ckks.NewParametersFromLiteral(literal))
	generator := rlwe.NewKeyGenerator(params)
	secret, public := generator.GenKeyPairNew()
	var rotations []int
	var elements []uint64
	for k := 1; k <= hoisted; k++ {
		rotations = append(rotations, k)
		elements = append(elements, params.GaloisElement(k))
	}
	keys := rlwe.NewMemEvaluationKeySet(generator.GenRelinearizationKeyNew(secret), generator.GenGaloisKeysNew(elements, secret)...)
	encoder, evaluator := ckks.NewEncoder(params), ckks.NewEvaluator(params, keys)
	encryptor, decryptor := ckks.NewEncryptor(params, public), ckks.NewDecryptor(params, secret)

	values := make([]complex128, params.MaxSlots())
	for i := range values {
		values[i] = cmplx.Exp(complex(0, float64(i)))
	}
	plain := ckks.NewPlaintext(params, params.MaxLevel())
	must(encoder.Encode(values, plain))
	encrypt := func() *rlwe.Ciphertext { return get(encryptor.EncryptNew(plain)) }
	a, b := encrypt(), encrypt()
	decoded := make([]complex128, len(values))
	decode := func(of *rlwe.Plaintext) { must(encoder.Decode(of, decoded)) }
	multiply := func() *rlwe.Ciphertext {
		out := get(evaluator.MulRelinNew(a, b))
		must(evaluator.Rescale(out, out))
		return out
	}
	worst := func(of *rlwe.Ciphertext, wanted func(int) complex128) (worst float64) {
		decode(decryptor.DecryptNew(of))
		for i := range decoded {
			worst = max(worst, cmplx.Abs(decoded[i]-wanted(i)))
		}
		return
	}
	at := func(i int) complex128 { return values[i%len(values)] }
	check("lattigo's product", worst(multiply(), func(i int) complex128 { return at(i) * at(i) }), 1e-4)
	turned := get(evaluator.RotateHoistedNew(a, rotations))[hoisted]
	check("lattigo's hoisted rotation", worst(turned, func(i int) complex128 { return at(i + hoisted) }), 1e-4)

	tensor := get(evaluator.MulNew(a, b))
	product := get(evaluator.MulRelinNew(a, b))
	out := product.CopyNew()
	lower := product.CopyNew()
	decrypted := decryptor.DecryptNew(a)
	figures := map[string]float64{
		"encode":           median(func() { must(encoder.Encode(values, plain)) }),
		"decode":           median(func() { decode(decrypted) }),
		"encrypt":          median(func() { must(encryptor.Encrypt(plain, b)) }),
		"decrypt":          median(func() { decryptor.Decrypt(a, decrypted) }),
		"decrypt + decode": median(func() { decryptor.Decrypt(a, decrypted); decode(decrypted) }),
		"tensor":           median(func() { must(evaluator.Mul(a, b, tensor)) }),
		"relinearise":      median(func() { must(evaluator.Relinearize(tensor, out)) }),
		"rescale":          median(func() { must(evaluator.Rescale(product, lower)) }),
		"rotate":           median(func() { must(evaluator.Rotate(a, 1, out)) }),
		"multiply + relinearise + rescale": median(func() {
			must(evaluator.MulRelin(a, b, product))
			must(evaluator.Rescale(product, lower))
		}),
		"rotate, hoisted, each of 8": median(func() { get(evaluator.RotateHoistedNew(a, rotations)) }) / hoisted,
	}
	return shape{
		Shape:      name,
		LogN:       literal.LogN,
		Parameters: fmt.Sprintf("CKKS, N = 2^%d, Q %v and P %v bits", literal.LogN, literal.LogQ, literal.LogP),
		Figures:    figures,
	}
}
