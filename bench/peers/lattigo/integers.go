package main

import (
	"fmt"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/bgv"
)

// Integers modulo 65537, in the manner of BGV and of BFV.
func integers() []shape {
	const t = 65537
	return []shape{
		integersAt("integers N = 2^14", bgv.ParametersLiteral{LogN: 14, LogQ: repeated(55, 55, 5), LogP: repeated(54, 54, 1), PlaintextModulus: t}),
		integersAt("integers N = 2^15", bgv.ParametersLiteral{LogN: 15, LogQ: repeated(55, 55, 11), LogP: repeated(55, 55, 3), PlaintextModulus: t}),
	}
}

func integersAt(name string, literal bgv.ParametersLiteral) shape {
	params := get(bgv.NewParametersFromLiteral(literal))
	generator := rlwe.NewKeyGenerator(params)
	secret, public := generator.GenKeyPairNew()
	rotation := generator.GenGaloisKeyNew(params.GaloisElement(1), secret)
	keys := rlwe.NewMemEvaluationKeySet(generator.GenRelinearizationKeyNew(secret), rotation)
	encoder, decryptor := bgv.NewEncoder(params), bgv.NewDecryptor(params, secret)
	values := make([]uint64, params.MaxSlots())
	for i := range values {
		values[i] = uint64(i*i) % literal.PlaintextModulus
	}
	plain := bgv.NewPlaintext(params, params.MaxLevel())
	must(encoder.Encode(values, plain))
	encrypt := func() *rlwe.Ciphertext { return get(bgv.NewEncryptor(params, public).EncryptNew(plain)) }
	a, b := encrypt(), encrypt()
	decoded := make([]uint64, len(values))
	same := func(what string, of *rlwe.Ciphertext, wanted func(int) uint64) {
		must(encoder.Decode(decryptor.DecryptNew(of), decoded))
		for i := range decoded {
			if decoded[i] != wanted(i) {
				fail(what, fmt.Errorf("slot %d is %d, not %d", i, decoded[i], wanted(i)))
			}
		}
	}
	square := func(i int) uint64 { return values[i] * values[i] % literal.PlaintextModulus }

	figures := map[string]float64{}
	for scheme, invariant := range map[string]bool{"BGV": false, "BFV": true} {
		evaluator := bgv.NewEvaluator(params, keys, invariant)
		product := get(evaluator.MulRelinNew(a, b))
		same(scheme+" product", product, square)
		rotated := a.CopyNew()
		figures[scheme+" rotate"] = median(func() { must(evaluator.RotateColumns(a, 1, rotated)) })
		if invariant {
			figures["BFV multiply + relinearise"] = median(func() { must(evaluator.MulRelin(a, b, product)) })
			continue
		}
		lower := product.CopyNew()
		figures["BGV multiply + relinearise + switch"] = median(func() {
			must(evaluator.MulRelin(a, b, product))
			must(evaluator.Rescale(product, lower))
		})
	}
	return shape{
		Shape:      name,
		LogN:       literal.LogN,
		Parameters: fmt.Sprintf("t = %d, N = 2^%d, Q %v and P %v bits", literal.PlaintextModulus, literal.LogN, literal.LogQ, literal.LogP),
		Figures:    figures,
	}
}
