package main

import (
	"fmt"
	"math/cmplx"
	"math/rand"
	"time"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/bootstrapping"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

// Bootstraps with Lattigo's own parameter sets of sparse secrets, all slots complex.
func bootstrap16() []shape {
	set := bootstrapping.N16QP1546H192H32
	return []shape{bootstrap("bootstrap N = 2^16", "N16QP1546H192H32", set.SchemeParams, set.BootstrappingParams)}
}

func bootstrap15() []shape {
	set := bootstrapping.N15QP768H192H32
	return []shape{bootstrap("bootstrap N = 2^15", "N15QP768H192H32", set.SchemeParams, set.BootstrappingParams)}
}

func bootstrap(name, set string, literal ckks.ParametersLiteral, more bootstrapping.ParametersLiteral) shape {
	params := get(ckks.NewParametersFromLiteral(literal))
	more.LogN = &literal.LogN
	plan := get(bootstrapping.NewParametersFromLiteral(params, more))
	secret := rlwe.NewKeyGenerator(params).GenSecretKeyNew()
	start := time.Now()
	keys, _, err := plan.GenEvaluationKeys(secret)
	must(err)
	generation := since(start)
	evaluator := get(bootstrapping.NewEvaluator(plan, keys))

	source := rand.New(rand.NewSource(1))
	values := make([]complex128, params.MaxSlots())
	for i := range values {
		values[i] = complex(2*source.Float64()-1, 2*source.Float64()-1)
	}
	encoder, decryptor := ckks.NewEncoder(params), ckks.NewDecryptor(params, secret)
	plain := ckks.NewPlaintext(params, 0)
	must(encoder.Encode(values, plain))
	fresh := get(ckks.NewEncryptor(params, secret).EncryptNew(plain))

	var out *rlwe.Ciphertext
	whole := medianOf(3, 0, func() { out = get(evaluator.Bootstrap(fresh.CopyNew())) })
	decoded := make([]complex128, len(values))
	must(encoder.Decode(decryptor.DecryptNew(out), decoded))
	worst := 0.0
	for i := range decoded {
		worst = max(worst, cmplx.Abs(decoded[i]-values[i]))
	}
	check("lattigo's bootstrap", worst, 1e-2)

	figures := map[string]float64{"bootstrap": whole, "key generation": generation}
	phase := func(name string, work func()) {
		before := time.Now()
		work()
		figures[name] += since(before)
	}
	lowered, _, err := evaluator.ScaleDown(fresh.CopyNew())
	must(err)
	var raised, real, imaginary *rlwe.Ciphertext
	phase("modulus raise", func() { raised = get(evaluator.ModUp(lowered)) })
	phase("coefficients to slots", func() {
		real, imaginary, err = evaluator.CoeffsToSlots(raised)
		must(err)
	})
	phase("sine", func() {
		real, imaginary = get(evaluator.EvalMod(real)), get(evaluator.EvalMod(imaginary))
	})
	phase("slots to coefficients", func() { get(evaluator.SlotsToCoeffs(real, imaginary)) })
	return shape{
		Shape:      name,
		LogN:       literal.LogN,
		Parameters: fmt.Sprintf("%s, %d complex slots, log PQ %.0f", set, len(values), plan.BootstrappingParameters.LogQP()),
		Figures:    figures,
	}
}
