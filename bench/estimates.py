"""What the lattice estimator says of our sets: log2 of the operations of the cheapest attack, for each of two costs of lattice reduction.

Needs SageMath and the estimator (https://github.com/malb/lattice-estimator) on the path of Python, nothing of ours:

    PYTHONPATH=lattice-estimator sage --python bench/estimates.py
"""

from math import log2

from estimator import LWE, ND, RC, LWEParameters

SIGMA = 3.19
TERNARY, BINARY = ND.Uniform(-1, 1), ND.Uniform(0, 1)

# Name, dimension, log2 of the modulus, secret.
SETS = [
    ("inputs of look-up tables", 1024, 25, BINARY),
    ("the same with a modulus of 26 bits", 1024, 26, BINARY),
    ("inputs of gates of single bits", 720, 17, BINARY),
    ("the same with a modulus of 18 bits", 720, 18, BINARY),
    ("Table 5.2 of ePrint 2024/463, n = 1024", 1024, 26, TERNARY),
    ("Table 5.2, n = 2048: rings of lut11", 2048, 53, TERNARY),
]
ATTACKS = {"uSVP": LWE.primal_usvp, "BDD": LWE.primal_bdd, "dual hybrid": LWE.dual_hybrid}
COSTS = {"MATZOV": RC.MATZOV, "BDGL16": RC.BDGL16}


def main() -> None:
    for name, dimension, log2_modulus, secret in SETS:
        parameters = LWEParameters(dimension, 2**log2_modulus, secret, ND.DiscreteGaussian(SIGMA))
        for cost, model in COSTS.items():
            found = {attack: log2(run(parameters, red_cost_model=model)["rop"]) for attack, run in ATTACKS.items()}
            words = ", ".join(f"{attack} {bits:.1f}" for attack, bits in found.items())
            print(f"{name} ({cost}): {min(found.values()):.1f} bits ({words})")


if __name__ == "__main__":
    main()
