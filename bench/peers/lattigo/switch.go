package main

import (
	"fmt"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/ring"
	"github.com/tuneinsight/lattigo/v6/utils/sampling"
)

// Key switches by the number of limbs: N = 2^16, 40 primes of 44 bits of which r are special.
func keySwitch() []shape {
	var shapes []shape
	for _, r := range []int{4, 8} {
		shapes = append(shapes, keySwitchWith(r))
	}
	return shapes
}

func keySwitchWith(r int) shape {
	const primes, bits, logN = 40, 44, 16
	literal := rlwe.ParametersLiteral{LogN: logN, LogQ: repeated(bits, bits, primes-r-1), LogP: repeated(bits, bits, r-1), NTTFlag: true}
	params := get(rlwe.NewParametersFromLiteral(literal))
	generator := rlwe.NewKeyGenerator(params)
	secret := generator.GenSecretKeyNew()
	key := generator.GenRelinearizationKeyNew(secret)
	evaluator := rlwe.NewEvaluator(params, rlwe.NewMemEvaluationKeySet(key))
	random := get(sampling.NewPRNG())
	figures := map[string]float64{}
	for _, limbs := range []int{36, 32, 28, 24, 20, 16, 12, 8, 4} {
		if limbs > primes-r {
			continue
		}
		level := limbs - 1
		operand := ring.NewUniformSampler(random, params.RingQ().AtLevel(level)).ReadNew()
		out := rlwe.NewCiphertext(params, 1, level)
		out.IsNTT = true
		figures[fmt.Sprintf("%d limbs", limbs)] = median(func() { evaluator.GadgetProduct(level, operand, &key.GadgetCiphertext, out) })
	}
	return shape{
		Shape:      "key switch by level",
		Variant:    fmt.Sprintf("r = %d", r),
		LogN:       logN,
		Parameters: fmt.Sprintf("N = 2^%d, %d primes of %d bits, %d of them special", logN, primes, bits, r),
		Figures:    figures,
	}
}
